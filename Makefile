# make              one static binary, ./mcptask
# make run          serves MCP over HTTP on 127.0.0.1:8766
# make demo         one agent takes over from another whose server is killed
# make cluster      three hosts share a store through etcd; one loses its node
# make test         all tests in C and sh, without a network
# make check        warnings, analyzers, sanitizers
# make install      below PREFIX; make uninstall
# make bench        figures, each a ratio to something measured in the same run
# make fuzz         libFuzzer targets, FUZZ_SECONDS each
# make soak         processes killed at random, 10,000 rounds
# make upgrade      this version and the release before on one store
# make cross        the tests on other processors (cross compilers, qemu)
# make conformance  the official suite of MCP (npm)
# make cluster-test  tests, clients and the suite with each store in etcd
# make clients      config and setup with three coding agents (npm, 700 MB)
# make oci mcpb     a container image; a bundle for desktop clients
# make npm wheel deb    packages for npx, for uvx, for Debian
# make dist         these for x86_64, aarch64, armhf, riscv64
# make help         this list
# V=1 shows the commands, HARDEN= builds smaller and without hardening.

ifeq ($(origin CC),default)
CC := $(shell command -v musl-gcc >/dev/null 2>&1 && echo musl-gcc || echo cc)
endif
B ?= build
BIN ?= mcptask
Q := $(if $(V),,@)

include packaging/flags.mk

SRC := $(addprefix base/,err base utf8 text clock base64 sha256 gunzip \
  file zone loop token env) \
  $(addprefix json/,write) json json/raw \
  $(addprefix store/,record index lock lost log state time apply files write \
  read move load compact verify) store store/replica \
  $(addprefix http/,parse conn listen reply) http board/page \
  $(addprefix task/,error intern keys fields parts event index task \
  query check claim draft rules actions change artifact view) \
  $(addprefix mcp/,call calls sign wire error scan question dialect listener \
  delivery session state waiting run mark talk deferred answer stream listen tasks \
  methods accept mcp) \
  $(addprefix tools/,call get uri prompts look wait tools) \
  $(addprefix serve/,tend turn stdio access exchange post \
  stream state web) \
  $(addprefix etcd/,head meta txn url client engine key snapshot upload tend members content remote) \
  $(addprefix cli/,width text store args id config show board work edit output run help backlog foreign import admin push doctor cli)
OBJ := $(SRC:%=$(B)/%.o)

all: $(BIN)

$(BIN): $(OBJ) $(B)/mcptask.o packaging/musl.ld
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $(filter %.o,$^) $(ALL_LDFLAGS) $(LTO) \
	  $(PACK_$(WAY)) $(if $(filter -g%,$(CFLAGS)),,-s)

# Each object comes with a list of the headers that it was made from.
$(B)/%.o: %.c Makefile packaging/flags.mk
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) $(LTO) -MMD -MP -c -o $@ $<
-include $(OBJ:.o=.d) $(B)/mcptask.d
# Optimized for size, memcpy becomes one instruction that copies byte by byte.
$(B)/base/base.o: STD += -D_DEFAULT_SOURCE -fno-builtin-memcpy
$(B)/mcptask.o: STD += $(filter -D%,$(PACK_$(WAY)))
$(B)/board/page.o: $(B)/page.inc
$(B)/cli/help.o: $(B)/help.inc
$(B)/tools/tools.o: $(B)/tools.inc

# The page, stripped of comments and indentation, the help text, and what tools
# do, with a NUL before each: compressed, as the bytes of a C array.
PACK = gzip -9n | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
$(B)/page.inc: board/board.html board/board.sed Makefile
	@mkdir -p $(B)
	$(Q)sed -f board/board.sed board/board.html | $(PACK) >$@
$(B)/help.inc: cli/help.txt Makefile
	@mkdir -p $(B)
	$(Q)<$< $(PACK) >$@
$(B)/tools.inc: tools/tools.txt Makefile
	@mkdir -p $(B)
	$(Q)awk '{ printf /^@/ ? "%s" : " %s", $$0 }' $< | tr @ '\000' | $(PACK) >$@

include tests/tests.mk
include packaging/install.mk

run: $(BIN)
	exec ./$(BIN) --http

demo: $(BIN)
	@sh tests/demo.sh ./$(BIN)
cluster: $(BIN)
	@sh tests/cluster.sh ./$(BIN)

help:
	@sed -n 's/^# //p; /^$$/q' Makefile

clean:
	rm -rf build mcptask

.PHONY: all run demo cluster help test check bench fuzz soak conformance clean
.SUFFIXES:
