# flags.mk -- how all programs beside the server are compiled and linked, and their
# unit tests, for a Makefile that has set TOP to the root, and PACKAGES to what it
# needs besides the ones below.
#
# Variables: CC, CFLAGS, PG_CONFIG, PKG_CONFIG, DESTDIR, PREFIX, WERROR=1,
# SANITIZE=address,undefined, and ASSERTS=1 (checks what must hold)

PG_CONFIG ?= pg_config
PKG_CONFIG ?= pkg-config
CFLAGS ?= -O2 -g

PACKAGES += libpq libevent_core yaml-0.1 jansson libcurl libmicrohttpd

# Debian keeps the server's static libraries with its modules.
PG_LIBS := $(foreach dir,$(shell $(PG_CONFIG) --pkglibdir) \
	$(shell $(PG_CONFIG) --libdir),-L$(dir)) -lpgcommon -lpgport

# $(1) if the compiler at hand knows it
usable = $(shell $(CC) -Werror $(1) -E -x c /dev/null >/dev/null 2>&1 && echo '$(1)')

# The server was built with gcc: its headers have attributes unknown to clang.
WARNINGS = -Wall -Wextra -Wmissing-prototypes -Wdeclaration-after-statement \
	-Wformat-security -Wno-unused-parameter -Wno-missing-field-initializers \
	$(if $(WERROR),-Werror) $(if $(findstring clang,$(CC)),-Wno-ignored-attributes)
HARDENING := -fPIE -fstack-protector-strong \
	$(call usable,-fstack-clash-protection) $(call usable,-fcf-protection)

# Headers of others are system headers: warnings are about our own code.
OUR_CPPFLAGS := -iquote $(TOP)/lib -iquote $(TOP)/src -iquote $(TOP)/ \
	-isystem $(shell $(PG_CONFIG) --includedir-server) \
	$(patsubst -I%,-isystem %,$(shell $(PKG_CONFIG) --cflags $(PACKAGES))) \
	-D_GNU_SOURCE $(if $(SANITIZE),,-D_FORTIFY_SOURCE=2) \
	$(if $(ASSERTS),-DUSE_ASSERT_CHECKING)

# The last two are what the server's headers are written for.
OUR_CFLAGS := -std=gnu11 $(WARNINGS) $(HARDENING) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
	-fno-omit-frame-pointer) \
	-fno-strict-aliasing -fwrapv
OUR_LDFLAGS := -pie -Wl,--as-needed -Wl,-z,relro,-z,now,-z,noexecstack \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE))
LIBS := $(PG_LIBS) $(shell $(PKG_CONFIG) --libs $(PACKAGES)) -lcrypto -lm

.PHONY: flags
flags:
	@echo '$(CPPFLAGS) $(OUR_CPPFLAGS) $(CFLAGS) $(OUR_CFLAGS)'

# Makefiles below us see the caller's variables as they were given.
LINK = $(CC) $(CFLAGS) $(OUR_CFLAGS) $(LDFLAGS) $(OUR_LDFLAGS)
COMPILE = $(CC) $(CPPFLAGS) $(OUR_CPPFLAGS) $(CFLAGS) $(OUR_CFLAGS) -MMD -MP
SERVER := $(shell $(PG_CONFIG) --version)
TOLD = $(SERVER): $(COMPILE) $(LINK) $(LIBS)
include $(TOP)/lib/stamp.mk

%.o: %.c $(STAMP)
	$(COMPILE) -c $< -o $@
