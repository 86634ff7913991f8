# make          one static binary, ./mcptask
# make run      serves MCP over HTTP on 127.0.0.1:8766, your own store
# make demo     the workflow of two agents over stdio, one of them killed
# make test     C and sh only, no network
# make check    strict warnings, analyzers, sanitizers, the order of layers
# make bench    figures, each a ratio to something measured in the same run
# make fuzz     libFuzzer targets, FUZZ_SECONDS each
# make soak     processes killed at random, 10,000 rounds
# make conformance  the official suite, in both its requirement sets (npm)
# make clients  the coding agents that read what config prints (npm, 700 MB)
# make cross    the tests on four other processors (cross compilers, qemu)
# make oci      a container image, without a container engine; make mcpb: a
#               bundle for desktop clients
# V=1 shows the commands.

ifeq ($(origin CC),default)
CC := $(shell command -v musl-gcc >/dev/null 2>&1 && echo musl-gcc || echo cc)
endif
PREFIX ?= /usr/local
B ?= build
BIN ?= mcptask
FUZZ_SECONDS ?= 60

# As small as it gets: measured, flag by flag; 8 KB less than -Os alone.
takes = $(shell echo 'int x;' | $(CC) -Werror $1 -x c -c -o /dev/null - \
  2>/dev/null && echo '$1')
ifeq ($(origin CFLAGS),undefined)
CFLAGS := $(or $(call takes,-Oz),-Os) $(call takes,-fno-caller-saves \
  -fno-expensive-optimizations -fno-move-loop-invariants \
  -fno-tree-dominator-opts -fno-tree-tail-merge) $(call takes,-malign-data=abi)
endif

# HARDEN= on the command line makes it 25 KB smaller and easier to break into.
HARDEN := 1
ifneq ($(HARDEN),)
HARD_CFLAGS := -fstack-protector-strong
HARD_LDFLAGS := -Wl,-z,relro,-z,now
else
HARD_CFLAGS := -fno-stack-protector
HARD_LDFLAGS := -Wl,-z,norelro
endif

# The ways to link, from the best on. musl-gcc takes no -static-pie: it would
# name an interpreter all the same, so it is told file by file; mcptask.c says
# what else. What is sanitized is never static.
CODE_pie := -fPIE
LINK_pie := -static-pie
PACK_pie := -DSTATIC_PIE
CODE_musl := -fPIE
LINK_musl := -static -nostartfiles \
  -Wl,-l:rcrt1.o,-pie,--no-dynamic-linker,-z,text
PACK_musl := -DSTATIC_PIE -DPACKED \
  -Wl,-z,pack-relative-relocs,--wrap=__libc_start_main
CODE_static := -fno-pie
LINK_static := -static
CODE_shared := $(if $(HARDEN),-fPIE)
LINK_shared := $(if $(HARDEN),-pie)
try = $(shell mkdir -p $(B) && echo 'int main(void){return 0;}' | \
  $(CC) $(CODE_$1) $(LINK_$1) -x c - -o $(B)/static 2>/dev/null && \
  ! grep -q /ld- $(B)/static && echo $1)
WAY := $(or $(if $(findstring -fsanitize,$(CFLAGS)),shared),$(if \
  $(HARDEN),$(or $(call try,pie),$(call try,musl))),$(call try,static),shared)
Q := $(if $(V),,@)
STD := -std=c11 -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 \
  -D_TIME_BITS=64 -I. -I$(B)
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
SMALL := -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables
ALL_CFLAGS = $(STD) $(WARN) $(CODE_$(WAY)) $(HARD_CFLAGS) $(SMALL) $(CFLAGS)
ALL_LDFLAGS = $(LINK_$(WAY)) $(HARD_LDFLAGS) -Wl,--gc-sections \
  -Wl,-z,noseparate-code $(LDFLAGS)

SRC := $(addprefix base/,err base text clock base64 sha256 gunzip \
  file loop token env) \
  $(addprefix json/,write) json json/raw \
  $(addprefix store/,record index lock lost state apply files write read \
  move load compact verify) store \
  $(addprefix http/,parse conn listen reply) http board/page \
  $(addprefix task/,error intern keys fields schema index task claim \
  query check draft rules actions change artifact view) \
  $(addprefix mcp/,call calls sign mcp scan methods waiting session listen \
  deferred tasks question delivery) \
  $(addprefix tools/,call tools get list uri prompts wait) \
  $(addprefix serve/,turn stdio access state web) \
  $(addprefix cli/,text store config show work board complete help import \
  admin archive doctor cli)
HDR := $(wildcard *.h */*.h)
OBJ := $(SRC:%=$(B)/%.o)

all: $(BIN)

$(BIN): $(OBJ) $(B)/mcptask.o
	@echo "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) -o $@ $^ $(ALL_LDFLAGS) $(PACK_$(WAY)) \
	  $(if $(findstring -g,$(CFLAGS)),,-s)

$(B)/%.o: %.c $(HDR) Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	$(Q)$(CC) $(ALL_CFLAGS) -c -o $@ $<
$(B)/base/base.o: STD += -D_DEFAULT_SOURCE
$(B)/mcptask.o: STD += $(filter -D%,$(PACK_$(WAY)))
$(B)/board/page.o: $(B)/page.inc
$(B)/cli/help.o: $(B)/help.inc

# The page, without what only its readers need.
PACK = gzip -9n | od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g'
$(B)/page.inc: board/board.html board/board.sed Makefile
	@mkdir -p $(B)
	$(Q)sed -f board/board.sed board/board.html | $(PACK) >$@
$(B)/help.inc: cli/help.txt Makefile
	@mkdir -p $(B)
	$(Q)<$< $(PACK) >$@

include tests/tests.mk

run: $(BIN)
	exec ./$(BIN) --http

demo: $(BIN)
	@sh tests/demo.sh ./$(BIN)

# What others install; see packaging/pack.sh.
image oci mcpb: $(BIN)
	@sh packaging/pack.sh $@ $(BIN)

MAN := share/man/man
UNITS := lib/systemd/system
install: $(BIN)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin $(MAN)1 $(MAN)5 $(UNITS))
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/mcptask
	install -m 644 man/mcptask.1 $(DESTDIR)$(PREFIX)/$(MAN)1/mcptask.1
	install -m 644 man/mcptask-log.5 $(DESTDIR)$(PREFIX)/$(MAN)5/mcptask-log.5
	for u in service socket; do \
	  to=$(DESTDIR)$(PREFIX)/$(UNITS)/mcptask.$$u; \
	  sed 's|@PREFIX@|$(PREFIX)|g' packaging/mcptask.$$u >$$to && \
	  chmod 644 $$to || exit 1; \
	done

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/mcptask $(MAN)1/mcptask.1 \
	  $(MAN)5/mcptask-log.5 $(UNITS)/mcptask.service $(UNITS)/mcptask.socket)

clean:
	rm -rf build mcptask

.PHONY: all run demo image oci mcpb test conformance check bench fuzz soak \
  install uninstall clean
.SUFFIXES:
