# What is installed, and what others install: see packaging/pack.sh.

PREFIX ?= /usr/local
MAN := share/man/man
UNITS := lib/systemd/system
SHARE := share/mcptask
PLUGIN := .mcp.json .claude-plugin/plugin.json .claude-plugin/marketplace.json \
  hooks/hooks.json skills/mcptask/SKILL.md

image tarball oci mcpb npm wheel deb: $(BIN)
	@sh packaging/pack.sh $@ $(BIN)

# For Linux on six processors and macOS on two, built by zig from npm.
dist:
	@sh packaging/dist.sh $(TARGETS)

install: $(BIN)
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin $(MAN)1 $(MAN)5 $(UNITS))
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin/mcptask
	install -m 644 man/mcptask.1 $(DESTDIR)$(PREFIX)/$(MAN)1/mcptask.1
	install -m 644 man/mcptask-log.5 $(DESTDIR)$(PREFIX)/$(MAN)5/mcptask-log.5
	for f in $(PLUGIN); do \
	  to=$(DESTDIR)$(PREFIX)/$(SHARE)/plugin/$$f; \
	  install -d $${to%/*} && \
	  install -m 644 packaging/plugin/$$f $$to || exit 1; \
	done
	for u in service socket; do \
	  to=$(DESTDIR)$(PREFIX)/$(UNITS)/mcptask.$$u; \
	  sed 's|@PREFIX@|$(PREFIX)|g' packaging/mcptask.$$u >$$to && \
	  chmod 644 $$to || exit 1; \
	done

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,bin/mcptask $(MAN)1/mcptask.1 \
	  $(MAN)5/mcptask-log.5 $(UNITS)/mcptask.service $(UNITS)/mcptask.socket)
	rm -rf $(DESTDIR)$(PREFIX)/$(SHARE)

.PHONY: image tarball oci mcpb npm wheel deb dist install uninstall
