# How the program is compiled and linked: as small as it gets, hardened, and
# static where the compiler can do that.

# Size: measured, flag by flag; 8 KB less than -Os alone. Link time optimization
# takes 6 KB off the program; the objects hold machine code as well, and that is
# what the tests link.
takes = $(shell echo 'int main(void){return 0;}' | $(CC) -Werror $1 -x c \
  $(or $2,-c) -o /dev/null - 2>/dev/null && echo '$1')
ifeq ($(origin CFLAGS),undefined)
CFLAGS := $(or $(call takes,-Oz),-Os) $(call takes,-fno-caller-saves \
  -fno-expensive-optimizations -fno-move-loop-invariants \
  -fno-optimize-sibling-calls -fno-tree-dominator-opts \
  -fno-tree-tail-merge -fno-early-inlining -fno-inline-small-functions \
  -fno-if-conversion -fno-shrink-wrap -fno-forward-propagate \
  -fno-tree-forwprop -fno-ipa-sra) $(call takes,-malign-data=abi) \
  $(call takes,--param=large-stack-frame=65536)
LTO := $(call takes,-flto -ffat-lto-objects -flto-partition=none,-O)
endif
SMALL := -ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables

# HARDEN= on the command line makes it 20 KB smaller and easier to break into.
HARDEN := 1
ifneq ($(HARDEN),)
HARD_CFLAGS := -fstack-protector-strong
HARD_LDFLAGS := -Wl,-z,relro,-z,now
else
HARD_CFLAGS := -fno-stack-protector
HARD_LDFLAGS := -Wl,-z,norelro
endif

# The ways to link, the best one first. musl-gcc has no -static-pie: it would
# name an interpreter all the same, so each file is named here; mcptask.c says
# what else that takes. Its stack guard is a plain variable, 1.5 KB less than
# by way of the thread; fork without the locks of threads takes 1.7 KB less,
# a layout of its own some 3 KB. A sanitized program is never static.
CODE_pie := -fPIE
LINK_pie := -static-pie
PACK_pie := -DSTATIC_PIE
CODE_musl := -fPIE $(call takes,-mstack-protector-guard=global)
LINK_musl := -static -nostartfiles \
  -Wl,-l:rcrt1.o,-pie,--no-dynamic-linker,-z,text
PACK_musl := -DSTATIC_PIE -DPACKED \
  -Wl,-z,pack-relative-relocs,--hash-style=sysv \
  -Wl,--wrap=__libc_start_main,--defsym=fork=_Fork \
  $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),-T packaging/musl.ld)
CODE_static := -fno-pie
LINK_static := -static
CODE_shared := $(if $(HARDEN),-fPIE)
LINK_shared := $(if $(HARDEN),-pie)
try = $(shell mkdir -p $(B) && echo 'int main(void){return 0;}' | \
  $(CC) $(CODE_$1) $(LINK_$1) -x c - -o $(B)/static 2>/dev/null && \
  ! grep -q /ld- $(B)/static && echo $1)
WAY := $(or $(if $(findstring -fsanitize,$(CFLAGS)),shared),$(if \
  $(HARDEN),$(or $(call try,pie),$(call try,musl))),$(call try,static),shared)

STD := -std=c11 -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 \
  -D_TIME_BITS=64 -I. -I$(B)
WARN := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes
ALL_CFLAGS = $(STD) $(WARN) $(CODE_$(WAY)) $(HARD_CFLAGS) $(SMALL) $(CFLAGS)
ALL_LDFLAGS = $(LINK_$(WAY)) $(HARD_LDFLAGS) -Wl,--gc-sections \
  -Wl,-z,noseparate-code $(if $(LTO),-fno-lto) $(LDFLAGS)
