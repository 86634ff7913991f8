# What is installed, and what others install: see packaging/pack.sh.

PREFIX ?= /usr/local
MAN := share/man/man
# What goes where below PREFIX.
UNITS := mcptask.service:lib/systemd/system/mcptask.service \
  mcptask.socket:lib/systemd/system/mcptask.socket \
  mcptask-group.socket:lib/systemd/system/mcptask-group.socket \
  mcptask-user.service:lib/systemd/user/mcptask.service \
  mcptask-user.socket:lib/systemd/user/mcptask.socket \
  mcptask.sysusers:lib/sysusers.d/mcptask.conf
UNIT_PATHS := $(foreach u,$(UNITS),$(lastword $(subst :, ,$u)))
SHARE := share/mcptask
# Where shells look for completion; Debian has another place for zsh.
BASH_DIR := share/bash-completion/completions
FISH_DIR := share/fish/vendor_completions.d
ZSH_DIR = share/zsh/site-functions
COMPLETE := $(BASH_DIR)/mcptask:bash $(FISH_DIR)/mcptask.fish:fish
PLUGIN := .mcp.json .claude-plugin/plugin.json .claude-plugin/marketplace.json \
  hooks/hooks.json skills/mcptask/SKILL.md

image tarball oci mcpb npm wheel deb: $(BIN)
	@sh packaging/pack.sh $@ $(BIN)

# For Linux on six processors and macOS on two, built by zig from npm.
dist:
	@sh packaging/dist.sh $(TARGETS)

install: $(BIN)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin $(MAN)1 $(MAN)5 \
	  $(sort $(dir $(UNIT_PATHS))))
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/mcptask
	install -m 755 contrib/mcptask-import $(DESTDIR)$(PREFIX)/bin
	install -m 644 man/mcptask.1 $(DESTDIR)$(PREFIX)/$(MAN)1/mcptask.1
	install -m 644 man/mcptask-log.5 $(DESTDIR)$(PREFIX)/$(MAN)5/mcptask-log.5
	for f in $(PLUGIN); do \
	  to=$(DESTDIR)$(PREFIX)/$(SHARE)/plugin/$$f; \
	  install -d $${to%/*} && \
	  install -m 644 packaging/plugin/$$f $$to || exit 1; \
	done
	for f in $(COMPLETE) $(ZSH_DIR)/_mcptask:zsh; do \
	  to=$(DESTDIR)$(PREFIX)/$${f%:*}; \
	  install -d $${to%/*} && \
	  install -m 644 packaging/completion/mcptask.$${f#*:} $$to || exit 1; \
	done
	for u in $(UNITS); do \
	  to=$(DESTDIR)$(PREFIX)/$${u#*:}; \
	  sed 's|@PREFIX@|$(PREFIX)|g' packaging/$${u%:*} >$$to && \
	  chmod 644 $$to || exit 1; \
	done

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/mcptask bin/mcptask-import $(MAN)1/mcptask.1 \
	  $(MAN)5/mcptask-log.5 $(UNIT_PATHS) \
	  $(BASH_DIR)/mcptask $(FISH_DIR)/mcptask.fish $(ZSH_DIR)/_mcptask)
	rm -rf $(DESTDIR)$(PREFIX)/$(SHARE)

.PHONY: image tarball oci mcpb npm wheel deb dist install uninstall
