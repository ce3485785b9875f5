# told.mk -- "make install" goes on with the variables that the last "make" was given, so
# that it installs what was built: nobody types flags twice, and sudo drops the
# environment.  A variable that "make install" is given itself counts.
#
# For the Makefile of the root alone, which includes this file before it sets PG_CONFIG.

TOLD_FILE = build.told
TOLD_NAMES = CC CFLAGS CPPFLAGS COPT LDFLAGS PG_CONFIG PKG_CONFIG SANITIZE ASSERTS WITH_KAFKA WITH_ZOOKEEPER
INSTALLS = install install-extension install-programs

# $(call quoted,TEXT) -- one word of the shell
quoted = '$(subst ','\'',$1)'
# $(call given,NAME) -- by what the caller gave it: command, environment, or nothing
given = $(filter command environment,$(firstword $(origin $1)))

hash := \#
GIVEN := $(foreach name,$(TOLD_NAMES),$(if $(call given,$(name)),$(name)))
TOLD_LINES := $(foreach name,$(GIVEN),$(call quoted,told.$(call given,$(name)).$(name) = $(subst $(hash),\$(hash),$(value $(name)))))

.PHONY: told go-on
told:
	@$(if $(GOING_ON),:,printf '%s\n' $(TOLD_LINES) | cmp -s - $(TOLD_FILE) || printf '%s\n' $(TOLD_LINES) >$(TOLD_FILE))

# The caller wants an installation and nothing else.
ifeq ($(filter-out $(INSTALLS),$(MAKECMDGOALS) $(GOING_ON)),)
ifneq ($(MAKECMDGOALS),)
GO_ON = yes
-include $(TOLD_FILE)
endif
endif

# $(call told_by,command or environment) -- what the last "make" was given so
told_by = $(foreach name,$(filter-out $(GIVEN),$(TOLD_NAMES)),$(if $(filter file,$(origin told.$1.$(name))),$(name)=$(call quoted,$(value told.$1.$(name)))))

go-on:
	@env $(call told_by,environment) $(MAKE) GOING_ON=1 $(call told_by,command) $(MAKECMDGOALS)
