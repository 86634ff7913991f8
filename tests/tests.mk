# Tests are found by their names: tests/FOLDER/t_NAME.c is linked with every
# object but main's; what it replaces at link time stands in WRAP_NAME, what it
# is called with in ARGS_NAME. tests/FOLDER/t_NAME.sh is called with the path of
# the binary, other scripts as RUN_NAME says. Those that take long come first,
# and those of etcd only where that is built in. BUT=NAME leaves one out.

left_out := $(if $(ETCD),%/t_no_etcd.sh,tests/etcd/%)
found = $(patsubst t_%,%,$(basename $(notdir $(filter-out $(left_out),\
  $(wildcard tests/*/t_*.$1)))))
TESTS := $(call found,c)
SCRIPTS := layers layers_fail shape example bounded $(call found,sh)
SLOW := abuse crowd unread store_cut crash server
RUNS := $(filter-out $(BUT),$(SLOW) $(filter-out $(SLOW),$(SCRIPTS) $(TESTS)))
ifneq ($(words $(RUNS)),$(words $(sort $(RUNS))))
$(error Two tests have the same name: $(RUNS))
endif
TALK := mcp_log mcp_logs mcp_defer mcp_request mcp_watch mcp_state mcp_wait \
  mcp_progress \
  mcp_session_mark mcp_is_principal
ALLOC := malloc calloc realloc
FILES := write pwrite pwrite64 pread pread64 fdatasync fsync ftruncate \
  ftruncate64 rename link open open64
WRAP_base := $(ALLOC)
WRAP_loop := clock_gettime
WRAP_file := open open64
WRAP_os := fcntl fcntl64 fsync fdatasync
WRAP_json := $(ALLOC)
WRAP_json_write := $(ALLOC)
WRAP_index := $(ALLOC)
WRAP_record := $(ALLOC)
WRAP_http_parse := $(ALLOC)
WRAP_mcp := $(ALLOC)
WRAP_store_others := readlink
WRAP_store_fault := $(ALLOC) $(FILES) clock_gettime
WRAP_replica := $(ALLOC) $(FILES) statvfs statvfs64
WRAP_store_next := fcntl fcntl64 pread pread64 pwrite pwrite64
WRAP_store_room := pwrite pwrite64 statvfs statvfs64
WRAP_order := $(FILES) openat openat64 fcntl fcntl64 close
WRAP_lock := fcntl fcntl64 clock_gettime rename link unlink fsync fdatasync \
  pwrite pwrite64
WRAP_verify := store_lock_patiently
WRAP_task := $(ALLOC) fdatasync clock_gettime store_find store_read $(TALK)
WRAP_keys := clock_gettime $(TALK)
WRAP_lists := $(TALK)
WRAP_parts := clock_gettime $(TALK)
WRAP_lease := clock_gettime $(TALK)
WRAP_message := $(TALK)
WRAP_who := clock_gettime $(TALK)
WRAP_takeover := clock_gettime $(TALK)
WRAP_call := $(ALLOC) pwrite pwrite64 clock_gettime
WRAP_call_marks := $(WRAP_call)
WRAP_call_store := $(WRAP_call)
WRAP_tools := $(TALK)
WRAP_look := $(TALK)
WRAP_reference := clock_gettime $(TALK)
WRAP_metrics := clock_gettime $(TALK)
WRAP_pieces := $(TALK)
WRAP_garbled := $(TALK)
WRAP_artifact := pwrite pwrite64 fsync rename $(TALK)
WRAP_prompts := $(TALK)
WRAP_sign := $(ALLOC) $(FILES) clock_gettime random_bytes
WRAP_http := $(ALLOC) clock_gettime pselect read write getsockname
WRAP_http_load := $(WRAP_http)
WRAP_http_budget := $(WRAP_http)
WRAP_nomem := $(ALLOC) pselect poll
WRAP_serve := $(ALLOC) clock_gettime pselect mcp_run
WRAP_serve_room := clock_gettime $(WRAP_store_room)
WRAP_etcd := $(ALLOC) clock_gettime
WRAP_engine := clock_gettime
WRAP_engine_tend := $(ALLOC) clock_gettime
WRAP_etcd_content := clock_gettime
WRAP_listen := $(ALLOC) $(FILES) clock_gettime
WRAP_session := $(WRAP_listen)
WRAP_token := $(ALLOC) $(FILES) clock_gettime
WRAP_mcp_talk := $(ALLOC)
WRAP_mcp_call := $(ALLOC) clock_gettime
WRAP_mcp_rounds := $(WRAP_mcp_call)
WRAP_mcp_tasks := $(ALLOC) pwrite pwrite64 clock_gettime
WRAP_mcp_questions := $(WRAP_mcp_tasks)
WRAP_mcp_plain := $(WRAP_mcp_tasks)
WRAP_tools_wait := pwrite pwrite64 clock_gettime
WRAP_claim_wait := $(WRAP_tools_wait)
WRAP_import := clock_gettime store_commit store_find store_read
WRAP_request := poll clock_gettime
WRAP_reset_time := os_boot_id
WRAP_terminal := clock_gettime
# Exhaustive tests take every so many of their cases, and those that kill
# processes so many rounds: fewer where they are emulated or sanitized.
TEST_STEP ?= 1
ROUNDS ?=
ARGS_server = $(abspath $(BIN))
ARGS_terminal = $(abspath tests/cli/look)
ARGS_web_token = $(abspath $(BIN))
ARGS_web_start = $(abspath $(BIN))
ARGS_web = $(abspath $(BIN)) $(B)/fixture
ARGS_abuse = $(abspath $(BIN))
ARGS_crowd = $(abspath $(BIN))
ARGS_unread = $(abspath $(BIN))
ARGS_nomem = $(abspath $(BIN))
ARGS_crash = $(abspath $(BIN)) $(ROUNDS)
ARGS_store_procs = $(ROUNDS)
ARGS_calls_procs = $(ROUNDS)

# What glibc calls some of these where 64 bits of time_t are not its own way.
ifdef TIME64
TIME64_clock_gettime := __clock_gettime64
TIME64_fcntl64 := __fcntl_time64
TIME64_pselect := __pselect64
endif
# Their wrapper is asked for by its own name, as nothing calls it by that.
wrap = -Wl,$(if $(TIME64_$1),--undefined=__wrap_$1 \
  -Wl$(comma)--wrap=$(TIME64_$1) \
  -Wl$(comma)--defsym=__wrap_$(TIME64_$1)=__wrap_$1 \
  -Wl$(comma)--defsym=__real_$1=__real_$(TIME64_$1),--wrap=$1)
comma := ,

# Compiled quickly, and linked without what it does not use: also the wrappers.
TEST_CFLAGS := -O0 -ffunction-sections
$(B)/tests/%.o: tests/%.c $(B)/flags | $(B)/page.inc $(B)/version.inc
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	$(Q)$(CC) $(ALL_CFLAGS) -DTEST_STEP=$(TEST_STEP) $(TEST_CFLAGS) \
	  -MMD -MP -c -o $@ $<

# What a test is linked with: every object but main's, and tests/lib.
TEST_LIB := $(patsubst %.c,$(B)/%.o,$(wildcard tests/lib/*.c))
TEST_OBJ := $(patsubst %.c,$(B)/%.o,$(wildcard tests/*/t_*.c))
-include $(TEST_LIB:.o=.d) $(TEST_OBJ:.o=.d)
.SECONDARY: $(TEST_OBJ)
$(B)/tests.a: $(OBJ) $(TEST_LIB)
	@rm -f $@
	$(Q)$(AR) qcs $@ $^

.SECONDEXPANSION:
$(B)/t_%: $$(addprefix $(B)/,$$(addsuffix .o,$$(basename $$(wildcard tests/*/t_$$*.c)))) \
  $(B)/tests.a
	$(Q)$(CC) $(CFLAGS) -Wl,--gc-sections -o $@ $^ \
	  $(foreach w,$(WRAP_$*),$(call wrap,$(w))) $(ALL_LDFLAGS)

# The protocol code with the catalogue that the official suite calls.
FIXTURE := $(wildcard tests/mcp/fixture*.c)
$(B)/fixture: $(FIXTURE) $(wildcard tests/*/*.h) $(OBJ)
	@echo "  TEST  $@"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $(FIXTURE) $(OBJ) \
	  $(ALL_LDFLAGS)

include tests/etcd/suite.mk

# Each runs by itself, bounded by tests/bounded.c, and leaves what it printed,
# in test/NAME.ok if it passed. As many run at once as make was told, or two for
# each processor: some wait for what they started.
JOBS = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell expr 2 \* \
  $$(getconf _NPROCESSORS_ONLN)))
RUN_layers = tests/layers.sh $(B) $(SRC) mcptask
RUN_layers_fail = tests/t_layers.sh
RUN_shape = tests/t_shape.sh
RUN_example = tests/t_example.sh
RUN_bounded = tests/t_bounded.sh $(B) "$(CC)"
script = $(or $(RUN_$*),$(wildcard tests/*/t_$*.sh) $(abspath $(BIN)))
program = $(B)/t_$* $(ARGS_$*)

test:
	@rm -rf $(B)/test
	@$(MAKE) -k --no-print-directory $(JOBS) $(RUNS:%=$(B)/test/%.ok) || :
	@cd $(B)/test && passed=$$(ls | grep -c '\.ok$$'); \
	for log in *.log; do \
	  [ ! -e "$$log" ] || { echo "failed: $${log%.log}"; cat "$$log"; }; \
	done; \
	echo "$$passed passed, $$(($(words $(RUNS)) - passed)) failed"; \
	[ $$passed -eq $(words $(RUNS)) ]

$(TESTS:%=$(B)/test/%.ok): $(B)/test/%.ok: $(B)/t_%
$(RUNS:%=$(B)/test/%.ok): $(B)/test/%.ok: $(BIN) $(B)/fixture $(B)/bounded
	@mkdir -p $(@D)
	@if $(B)/bounded $(if $(filter $*,$(TESTS)),$(program),sh $(script)) \
	  </dev/null >$(@:.ok=.log) 2>&1; then \
	  mv $(@:.ok=.log) $@; cat $@; else echo "failed: $*"; fi

$(B)/bounded: tests/bounded.c
	@mkdir -p $(@D)
	@echo "  TEST  $<"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $< $(ALL_LDFLAGS)

# The examples of docs/architecture.md in a copy of the tree.
example:
	@sh tests/example.sh $(if $(SHORT),--short) "$(CC)"

# Nothing is run of what this builds.
systems:
	@sh tests/systems.sh

# What other systems make base/os.c do.
posix:
	@$(MAKE) CPPFLAGS='$(CPPFLAGS) -DOS_POSIX_ONLY' B=build/posix \
	  BIN=build/posix/mcptask test

# ---- check: every compiler's warnings, analyzers and sanitizers ----

SAN := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all \
  -fno-omit-frame-pointer -DARENA_ALLOCATIONS
STRICT := $(STD) $(WARN) -Werror

check:
	@$(MAKE) -k -O --no-print-directory $(JOBS) lint_builds lint
	@$(MAKE) --no-print-directory sanitized

# A name for each, so that they run side by side.
ANALYZED := $(addprefix lint_analyzer/,$(SRC) mcptask)
LINT := lint_conflicts lint_shape lint_gcc lint_clang lint_cppcheck $(ANALYZED)
lint: $(LINT)
$(LINT): $(B)/version.inc $(B)/page.inc $(B)/help.inc $(B)/tools.inc \
  $(B)/skill.inc
lint_builds:
	sh tests/t_build.sh
lint_cppcheck:
	@echo "  LINT  cppcheck"
	$(Q)cppcheck -q --error-exitcode=1 --inline-suppr --std=c11 \
	  --enable=warning,performance,portability --suppress=missingInclude \
	  -D__linux__ -I$(B) $(SRC:%=%.c) mcptask.c
lint_gcc lint_clang: lint_%:
	@echo "  LINT  $*"
	$(Q)$* $(STRICT) -O2 -fsyntax-only $(SRC:%=%.c) mcptask.c
lint_conflicts:
	! git grep -nIE '^(<<<<<<<|>>>>>>>|[|]{7}) ' -- . ':!tests/data'
lint_shape:
	$(Q)git ls-files '*.c' '*.h' | xargs awk -f tests/shape.awk
# gcc 12 takes what an array in an array of pointers leads to for leaked.
lint_analyzer/store/index lint_analyzer/task/tables: STRICT += -Wno-analyzer-malloc-leak
$(ANALYZED): lint_analyzer/%: %.c
	@echo "  LINT  $<"
	$(Q)gcc $(STRICT) -O1 -fanalyzer -c -o /dev/null $<

# What is undefined differs: clang's see NULL + 0, gcc's do not.
sanitized:
	@$(MAKE) --no-print-directory sanitized_gcc
	@$(MAKE) --no-print-directory sanitized_clang
sanitized_gcc sanitized_clang: sanitized_%:
	@if [ $* = clang ] && ! echo 'int main(void){return 0;}' | \
	  clang $(SAN) -x c -o /dev/null - 2>/dev/null; then \
	  echo 'skipped: clang has no sanitizers here (libclang-rt-dev)'; else \
	  $(MAKE) CC=$* B=build/san_$* BIN=build/san_$*/mcptask STATIC= \
	    CFLAGS='$(SAN)' TEST_STEP=7 ROUNDS=20 test; fi

# ---- upgrade: the releases before, built from the history ----

upgrade: $(BIN)
	sh tests/t_upgrade.sh $(BIN)

# ---- cross: needs cross compilers and qemu-user-static ----

cross: $(BIN)
	sh tests/cross.sh $(if $(SHORT),--short) $(ARCHS)

clients: $(BIN)
	sh tests/clients.sh $(abspath $(BIN))
	sh tests/clients/import.sh $(abspath $(BIN))
	MCPTASK=$(abspath $(BIN)) sh tests/clients/python/run.sh
	MCPTASK=$(abspath $(BIN)) sh tests/clients/langs.sh

# ---- conformance: needs npm and what it installs ----

conformance: $(BIN) $(B)/fixture
	cd tests/interop && { [ -d node_modules ] || npm ci; }
	node tests/interop/conformance.mjs $(B)/fixture ./$(BIN)

# ---- peers: the same, and 1.5 GB ----

# npm ci wants the packages of all platforms in the lock file.
peers: $(BIN)
	cd tests/peers && { [ -d node_modules ] || npm install --no-save; }
	@MCPTASK=./$(BIN) node tests/peers/peers.mjs $(PEERS_ARGS)

# ---- fuzz: needs clang and its runtime ----

FUZZ := json log line http record cli import texts $(ETCD:etcd=etcd remote)
SEEDS_cli := record
SEEDS_log := ../../data
FUZZ_SECONDS ?= 60
# Each run continues from the inputs that those before found: make clean leaves
# them.
FUZZ_CORPUS ?= corpus
# Parsers compare each byte with many: to trace that takes half of the time.
FUZZ_FLAGS := $(SAN) -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp

fuzz:
	@$(MAKE) CC=clang B=build/fuzz STATIC= CFLAGS='$(FUZZ_FLAGS)' $(JOBS) \
	  $(FUZZ:%=run_fuzz_%)

$(FUZZ:%=$(B)/fuzz_%): $(B)/fuzz_%: tests/fuzz/fuzz_%.c \
  $(B)/tests.a $(wildcard tests/*/*.h)
	@echo "  FUZZ  $<"
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@ $< \
	  $(B)/tests.a $(ALL_LDFLAGS)

$(FUZZ:%=run_fuzz_%): run_fuzz_%: $(B)/fuzz_%
	@mkdir -p $(FUZZ_CORPUS)/$*
	$< -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
	  -max_len=8192 -close_fd_mask=3 -print_final_stats=0 -verbosity=0 \
	  $(FUZZ_CORPUS)/$* $(wildcard tests/fuzz/seeds/$(or $(SEEDS_$*),$*))

# ---- bench and soak ----

$(B)/bench_%: tests/bench/bench_%.c
	@echo "  BENCH $<"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $< $(ALL_LDFLAGS)

BENCH := bench bench_http bench_calls $(ETCD:%=bench_%)
$(BENCH:%=$(B)/%): $(B)/%: tests/bench/%.c tests/bench/bench_rig.c \
  tests/bench/bench_pipe.c $(wildcard tests/bench/*.h) $(OBJ)
	@echo "  BENCH $<"
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $(filter %.c %.o,$^) \
	  $(ALL_LDFLAGS)

bench: $(BIN) $(BENCH:%=$(B)/%) $(B)/bench_echo $(B)/bench_empty
	@for b in $(BENCH); do $(B)/$$b $(BENCH_ARGS) ./$(BIN) || exit 1; done

# Instructions of each call; without valgrind it fails. BENCH_PROGRAMS are older
# builds to compare with.
instructions: $(BIN)
	@python3 tests/bench/instructions.py $(BENCH_PROGRAMS) ./$(BIN)

# Lines by folder and kind; what a request passes on its way to the disk.
lines:
	@sh tests/lines.sh
walk:
	@$(MAKE) B=build/walk BIN=build/walk/mcptask STATIC=-no-pie ETCD= \
	  CFLAGS='-O0 -g -finstrument-functions' build/walk/walked >/dev/null
	@sh tests/bench/walk.sh build/walk/walked
$(B)/walked: tests/bench/walk.c $(OBJ) $(B)/mcptask.o
	$(Q)$(CC) $(ALL_CFLAGS) -o $@ $^ $(ALL_LDFLAGS)

# Mixed load for half an hour, then the same on three hosts. Without python3 or
# etcd the rest is skipped.
SOAK_SECONDS ?= 1800
soak: $(BIN)
	python3 tests/soak.py ./$(BIN) $(SOAK_SECONDS)
	python3 tests/soak.py ./$(BIN) $(SOAK_SECONDS) --etcd || [ $$? -eq 77 ]

kills: export TEST_SECONDS = 0
kills: $(BIN) $(B)/t_store_cut $(B)/t_store_procs $(B)/t_lease $(B)/t_calls_procs $(B)/t_crash
	$(B)/t_store_cut all
	$(B)/t_store_procs 10000
	$(B)/t_lease 10000
	$(B)/t_calls_procs 1000
	$(B)/t_crash ./$(BIN) 1000
	$(MAKE) chaos CHAOS_SECONDS=600

# Nodes of etcd and servers are killed; without etcd it is skipped.
CHAOS_SECONDS ?= 60
chaos: $(BIN)
	@python3 tests/etcd/chaos.py ./$(BIN) $(CHAOS_SECONDS) || [ $$? -eq 77 ]

# One fault after the other, likewise.
faults: $(BIN)
	@python3 tests/etcd/faults.py ./$(BIN) || [ $$? -eq 77 ]

.PHONY: instructions lines walk example posix systems kills chaos faults \
  cluster-test upgrade cross clients peers lint \
  lint_builds sanitized sanitized_gcc sanitized_clang $(LINT) \
  $(FUZZ:%=run_fuzz_%)
