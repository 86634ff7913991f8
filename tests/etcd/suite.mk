# Suites that run with each store in an etcd of their own: test programs in C,
# with tests/etcd/shared_open.c, and those of tests/interop. Without etcd they
# are skipped.

# Every program of these folders, and serve: the others of its folder start a
# server of their own.
SHARED := serve $(patsubst t_%,%,$(basename $(notdir \
  $(wildcard tests/task/t_*.c tests/tools/t_*.c tests/mcp/t_*.c))))

# What is left out of them, as PROGRAM/FUNCTION, and why.
# What etcd has committed is a success even if it cannot be written here.
NOT_SHARED := task/test_undo_is_exact artifact/test_refused_artifact_leaves_no_file \
  call_marks/test_two_names call_store/test_undo_is_exact \
  call_store/test_undo_marks call_store/test_no_memory \
  call_store/test_calls_alone_are_compacted \
  mcp_tasks/test_progress mcp_questions/test_failed_commits \
  mcp_plain/test_an_answer_that_fails_to_commit \
  claim_wait/test_parked tools_wait/test_no_room_for_a_record \
  session/test_one_turn_builds_on_itself_and_can_be_undone
# A content that is gone or changed here comes from etcd.
NOT_SHARED += artifact/test_artifact_that_is_gone_or_changed
# A lease is over for others 5 s later, since clocks may differ.
NOT_SHARED += lease/test_a_lease_that_ends \
  lease/test_a_lease_and_the_clock_set_back \
  tools_wait/test_lease_ends_while_waiting \
  tools_wait/test_lease_of_an_agent_ends claim_wait/test_lease_ends \
  claim_wait/test_lease_gets_shorter claim_wait/test_paths \
  metrics/test_figures_follow_the_time
# A compaction of a replica ends the old file without a record.
NOT_SHARED += call_store/test_compaction \
  call_store/test_records_of_another_version
# After a request that failed for lack of memory time has to pass, and stands.
NOT_SHARED += mcp_plain/test_plain_questions_without_memory
# A number that nobody is known to have may be of a host that begins.
NOT_SHARED += call_store/test_instances
# The file with the key of a store is made again from etcd.
NOT_SHARED += sign/test_key_survives sign/test_failing_opens
# A clock that leaps ahead ends the request that is under way.
NOT_SHARED += serve/test_refused_by_the_head serve/test_an_idle_server_sleeps \
  serve/test_an_idle_server_tells serve/test_an_idle_stream
# A host whose clock is far ahead cannot write.
NOT_SHARED += takeover/test_time_is_taken_back call_store/test_time_is_taken_back \
  claim_wait/test_parked_after_its_time

not_shared = $(notdir $(filter $*/%,$(NOT_SHARED)))
$(B)/shared/%.c: $$(wildcard tests/*/t_$$*.c) tests/etcd/suite.mk
	@mkdir -p $(@D)
	@for f in $(not_shared:test_%=%); do grep -q "^test_$$f(\|^TEST($$f)" $< || \
	  { echo "no $$f in $<"; exit 1; }; done
	$(Q){ printf '#define left_out(...) ((void)0)\n#line 1 "$<"\n'; \
	  sed $(not_shared:%=-e 's/^ .*\<%(/    left_out(/') $(foreach f,\
	  $(not_shared:test_%=%),-e 's/^TEST($f)/static void test_$f(void)/') \
	  -e '' $<; } >$@

$(SHARED:%=$(B)/shared/%): $(B)/shared/%: $(B)/shared/%.c $(B)/tests.a \
  tests/etcd/shared_open.c $(wildcard tests/*/*.h)
	@echo "  TEST  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -DTEST_STEP=$(TEST_STEP) \
	  -Wno-unused-function $(TEST_CFLAGS) -Wl,--gc-sections -I. -o $@ $< \
	  tests/etcd/shared_open.c $(B)/tests.a $(foreach w,$(WRAP_$*) store_open \
	  store_close store_lock store_lock_patiently store_commit,$(call wrap,$(w))) \
	  $(ALL_LDFLAGS)

$(B)/shared/fixture: $(FIXTURE) $(OBJ) tests/etcd/shared_open.c \
  $(wildcard tests/*/*.h)
	@mkdir -p $(@D)
	@echo "  TEST  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -DMEETS_HOSTS $(TEST_CFLAGS) \
	  -o $@ $(FIXTURE) \
	  tests/etcd/shared_open.c $(OBJ) $(foreach w,store_open \
	  store_close,$(call wrap,$(w))) $(ALL_LDFLAGS)

# Which of them are to run. In hosts, each server that a client starts is on a
# host of its own.
CLUSTER_SUITES ?= programs conformance interop hosts
cluster-test: $(BIN) $(B)/fixture $(SHARED:%=$(B)/shared/%) $(B)/shared/fixture
	@python3 tests/etcd/with_etcd.py $(MAKE) --no-print-directory -k \
	  $(CLUSTER_SUITES:%=cluster_%) || [ $$? -eq 77 ]

cluster_programs: $(SHARED:%=cluster_program/%)
$(SHARED:%=cluster_program/%): cluster_program/%:
	@timeout 120 $(B)/shared/$*

cluster_conformance:
	cd tests/interop && { [ -d node_modules ] || npm ci; }
	node tests/interop/conformance.mjs $(B)/shared/fixture ./$(BIN)

cluster_interop:
	cd tests/interop && { [ -d node_modules ] || npm ci; } && \
	  FIXTURE=$(abspath $(B)/shared/fixture) npm test

# Not who: another host's process counts as alive for some 20 s after its end.
ON_HOSTS := tasks waits told crew scenarios workflow motion surface
cluster_hosts:
	cd tests/interop && { [ -d node_modules ] || npm ci; } && TEST_HOSTS=1 \
	  node --test --test-concurrency=2 --test-timeout=240000 \
	  --test-reporter=spec $(ON_HOSTS:%=%.test.mjs)
