# make              one static binary, ./mcptask
# make ETCD=        the same without stores of several hosts, which etcd orders
# make run          serves MCP over HTTP on 127.0.0.1:8766
# make demo         an agent takes over from one of another product, killed
# make recording    docs/demo.svg, which shows make demo
# make cluster      three hosts share a store through etcd; one loses its node
# make test         all tests in C and sh, without a network
# make example      the examples of docs/architecture.md with all tests
# make posix        the same with what any POSIX system has
# make systems      builds for macOS, BSDs and other processors (npm)
# make check        warnings, analyzers, sanitizers
# make install      below PREFIX; make uninstall
# make bench        figures, each a ratio to something measured in the same run
# make lines        lines by folder and kind, product and tests
# make walk         functions and files that a request passes
# make instructions of each call, at 100 and 100,000 tasks (valgrind)
# make fuzz         libFuzzer targets, FUZZ_SECONDS each
# make soak         mixed load on one store for half an hour, then on three hosts
# make kills        processes killed at random, 10,000 rounds
# make upgrade      this version and each release before on one store
# make cross        the tests on other processors (cross compilers, qemu)
# make conformance  the official suite of MCP (npm)
# make cluster-test  tests, clients and the suite with each store in etcd
# make peers        other task servers for agents, side by side (npm, 1.5 GB)
# make clients      three coding agents, and SDKs in Python, Go, Rust and Java,
#                   as far as their tools are there (npm and pip, 2 GB)
# make oci mcpb     a container image; a bundle for desktop clients
# make npm wheel deb    packages for npx, for uvx, for Debian
# make dist         these for eight kinds of machine, by zig (npm)
# make man          the lists of man/mcptask.1, from --help
# make docs         the tables and results of docs/tools.md
# make help         this list
# CC, CPPFLAGS, CFLAGS, LDFLAGS, PREFIX and DESTDIR are honoured; CC=musl-gcc
# makes a smaller program, STATIC= one that is linked dynamically. V=1 shows the
# commands.

CFLAGS ?= -O2
B ?= build
BIN ?= mcptask
Q := $(if $(V),,@)
ETCD = etcd

# How to link: the first of these with which the compiler makes a program that
# needs no dynamic linker, or else as it does by itself. STATIC= is the latter.
takes = $(shell mkdir -p $(B) && echo 'int main(void){return 0;}' | \
  $(CC) $1 -x c - -o $(B)/probe 2>/dev/null && $(or $2,:) && echo '$1')
alone = ! grep -Eq '/ld-|/libexec/ld|/dyld' $(B)/probe
ifndef STATIC
STATIC := $(or $(call takes,-fPIE -static-pie,$(alone)),$(call \
  takes,-static,$(alone)))
endif
RELRO := -Wl,-z,relro,-z,now
RELRO := $(call takes,$(RELRO))

STD := -std=c11 -D_XOPEN_SOURCE=700 -D_DARWIN_C_SOURCE -D_NETBSD_SOURCE \
  -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -I. -I$(B)
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
ALL_CFLAGS = $(STD) $(WARN) $(filter -fPIE,$(STATIC)) \
  -fstack-protector-strong $(if $(ETCD),,-DNO_ETCD) $(CPPFLAGS) $(CFLAGS)
ALL_LDFLAGS = $(STATIC) $(RELRO) $(LDFLAGS)

SRC := $(basename $(wildcard *.c $(addsuffix /*.c,base json store http board \
  task mcp tools serve $(ETCD) cli)))
SRC := $(filter-out mcptask,$(SRC))
OBJ := $(SRC:%=$(B)/%.o)

all: $(BIN)

$(BIN): $(OBJ) $(B)/mcptask.o
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(if $(findstring -g,$(CFLAGS)),,-s)

# Each object comes with a list of the headers that it was made from, and is
# made anew with other flags.
$(B)/%.o: %.c Makefile $(B)/flags
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
-include $(OBJ:.o=.d) $(B)/mcptask.d
$(B)/base/base.o: $(B)/version.inc
$(B)/board/page.o: $(B)/page.inc
$(B)/cli/help.o: $(B)/help.inc
$(B)/tools/resources.o: $(B)/skill.inc
$(B)/tools/tools.o: $(B)/tools.inc
$(B)/flags: always
	@mkdir -p $(B)
	@echo '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || echo '$(CC) $(ALL_CFLAGS)' >$@

# The page without comments and indentation, the help text, the skill, and what
# tools do with a NUL before each: compressed, as the bytes of a C array.
PACK = gzip -9n | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
$(B)/page.inc: board/board.html board/board.sed Makefile
	@mkdir -p $(B)
	$(Q)sed -f board/board.sed board/board.html | $(PACK) >$@
$(B)/help.inc: cli/help.txt Makefile
	@mkdir -p $(B)
	$(Q)<$< $(PACK) >$@
$(B)/skill.inc: packaging/plugin/skills/mcptask/SKILL.md Makefile
	@mkdir -p $(B)
	$(Q)<$< $(PACK) >$@
$(B)/tools.inc: tools/tools.txt Makefile
	@mkdir -p $(B)
	$(Q)awk '{ printf /^@/ ? "%s" : " %s", $$0 }' $< | tr @ '\000' | $(PACK) >$@

# A version in development, which ends in -dev, also says its commit.
VERSION := $(shell sed -n 's/^.define MCPTASK_VERSION "\(.*\)"/\1/p' base/base.h)
MCPTASK_COMMIT ?= $(if $(wildcard .git),$(shell \
  git rev-parse --short=8 HEAD 2>/dev/null))
FULL := "$(VERSION)$(if $(filter %-dev,$(VERSION)),$(MCPTASK_COMMIT:%=+%))"
$(B)/version.inc: always
	@mkdir -p $(B)
	@echo '$(FULL)' | cmp -s - $@ || echo '$(FULL)' >$@

include tests/tests.mk
include packaging/install.mk

run: $(BIN)
	exec ./$(BIN) --http

demo: $(BIN)
	@sh tests/demo.sh ./$(BIN)
recording: $(BIN)
	@sh tests/recording.sh ./$(BIN) >$(B)/demo.svg
	@cp $(B)/demo.svg docs/demo.svg
cluster: $(BIN)
	@sh tests/cluster.sh ./$(BIN)

man: $(BIN)
	@sh man/lists.sh ./$(BIN) >$(B)/mcptask.1
	@cp $(B)/mcptask.1 man/mcptask.1

docs: $(B)/t_reference
	@$< write

help:
	@sed -n 's/^# //p; /^$$/q' Makefile

clean:
	rm -rf build mcptask

.PHONY: all always run demo recording cluster man docs help test check bench fuzz soak conformance clean
.SUFFIXES:
