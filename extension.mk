# extension.mk -- the extension, by PGXS.
#
# Apart from Makefile because PGXS brings its own "check"; in the root because
# PGXS looks for sources from where its makefile lies.  Called as
#		make -f extension.mk [all | install | installcheck | clean | ...]

PG_CONFIG ?= pg_config

EXTENSION = twtasks
MODULE_big = twtasks
PGFILEDESC = "twtasks - background tasks in your transactions"

# In the order of a task's life.
OBJS += src/twtasks.o				# loading: hands over to each module
OBJS += src/add/add.o				# 1 add
OBJS += src/add/store.o				# 1 add: the row
OBJS += src/add/claim.o				# 1 add: the task that claimed its key first
OBJS += src/add/when.o				# 1 add: its trigger
OBJS += src/add/batch.o			# 1 add: many tasks
OBJS += src/add/successors.o		# 1 add: those of a handler's reply
OBJS += src/add/add_json.o			# 1 add: tasks given as JSON
OBJS += src/add/add_order.o			# 1 add: the order of a batch
OBJS += src/add/check.o				# 1 add: what must hold of the arguments
OBJS += src/add/known_type.o		# 1 ... and of the type, if the database is told so
OBJS += src/add/json_digits.o		# ... how long their JSON is as text
OBJS += src/add/context.o			# 1 ... what it carries to its handler
OBJS += src/add/allowed.o			# 1 ... roles that may add a type
OBJS += src/policy/policy.o			# configuration of types and buckets
OBJS += src/policy/policy_read.o	# ... their rows, read
OBJS += src/policy/policy_open.o	# ... which buckets exist, what is paused
OBJS += src/policy/policy_apply.o	# ... its effect on an added task
OBJS += src/policy/policy_options.o	# ... for SQL functions that ask
OBJS += src/policy/policy_call.o	# functions that policies name
OBJS += src/policy/time_limit.o	# ... for how long
OBJS += src/policy/try_call.o	# ... so that one that fails stops no others
OBJS += src/policy/user_function.o	# ... and all functions that users name
OBJS += src/policy/retry.o			# when a task that failed is tried again
OBJS += src/commit/commit.o			# 2 commit
OBJS += src/commit/news.o			# ... whether it notifies
OBJS += src/commit/prepared.o
OBJS += src/queue/queue.o			# 3 queue
OBJS += src/queue/ring.o			# 3 ... its triggers
OBJS += src/queue/door.o			# 3 ... a lone trigger, sooner
OBJS += src/queue/groups.o			# 3 ... and who handles which
OBJS += src/queue/taker.o			# 3 ... from the side of who takes them
OBJS += src/queue/next_triggers.o	# 3 queue: what a sidecar calls
OBJS += src/table/marks.o			# 4 table: where a sweep goes on
OBJS += src/table/sweep.o			# 4 table: what it is filled from
OBJS += src/table/queued.o			# 4 ... the index that it reads
OBJS += src/table/count.o			# ... and how much is in the queue
OBJS += src/table/unfit.o			# ... and for which types nobody works
OBJS += src/grab/grab.o				# 5 grab
OBJS += src/grab/slots.o			# 5 grab: limits of the whole cluster
OBJS += src/grab/limit_rules.o		# ... as they are configured
OBJS += src/execute/execute.o		# 6 execute: one handler
OBJS += src/execute/execute_tasks.o	# 6 execute: a batch of tasks
OBJS += src/execute/answer.o		# 6 ... what their handler answers
OBJS += src/execute/confine.o		# 6 ... and leave no trace in the session
OBJS += src/finish/finish.o			# 7 finish
OBJS += src/finish/finish_call.o	# 7 finish: its arguments
OBJS += src/finish/end_tasks.o		# 7 finish: tasks that no worker ends
OBJS += src/finish/on_end.o			# 7 finish: functions that hear of it
OBJS += src/finish/live.o			# 7 finish: tasks that stay in the live table
OBJS += src/finish/outcome.o			# ... what handlers add to that
OBJS += src/finish/ended.o			# ... and what they are told
OBJS += src/finish/judge.o			# 7 finish: retry, or give up
OBJS += src/finish/history.o		# 7 finish: where finished tasks go
OBJS += src/finish/attempts.o		# 7 finish: tries that did not succeed
OBJS += src/events/give_events.o	# twtasks_events: the next heads of objects
OBJS += src/node/node.o				# live nodes
OBJS += src/node/locks.o			# ... locks for duties of one node
OBJS += src/node/vacuum_tasks.o		# ... their vacuum of the table of tasks
OBJS += src/node/adoption.o			# whether this is a copy
OBJS += src/node/marker.o			# the file that tells copies
OBJS += src/node/clock.o			# the database's time
OBJS += src/node/table_changed.o	# notices of a changed table
OBJS += src/schedule/cron.o			# when a schedule runs
OBJS += src/base/rows.o				# rows of the task table
OBJS += src/base/vacated.o			# ... and the room that they leave
OBJS += src/base/append.o			# many new rows
OBJS += src/base/target.o			# ... and what a table wants to know of both
OBJS += src/base/indexes.o		# ... its indexes
OBJS += src/base/shape.o		# ... its columns
OBJS += src/base/fill.o			# ... those that users added
OBJS += src/base/new_task.o		# a task on its way in
OBJS += src/base/constructors.o	# values of our types that SQL makes
OBJS += src/base/json_value.o		# the text of a JSON value
OBJS += src/base/contract.o			# whether the library knows the SQL that calls it
OBJS += src/base/error_shape.o		# an error without its details
OBJS += src/base/call.o				# arguments and results of functions
OBJS += src/base/arrays.o			# ... that are arrays
OBJS += src/base/caller.o			# in whose name
OBJS += src/base/plan.o				# statements, prepared once
OBJS += src/base/path.o			# ... their search_path
OBJS += src/base/parts.o			# partitions by time
OBJS += src/base/table_cache.o		# configuration that a session keeps
OBJS += src/base/settings.o			# every setting but the context
OBJS += src/base/shown.o			# callers' values in messages
OBJS += src/common/trigger.o		# plain C, in both halves
OBJS += src/common/pattern.o
OBJS += src/common/task_id.o
OBJS += src/common/cron.o
OBJS += src/common/limit_pattern.o
OBJS += src/common/places.o

# The version stands in the control file and nowhere else.
EXTVERSION := $(shell sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" $(EXTENSION).control)
INSTALL_SQL = sql/$(EXTENSION)--$(EXTVERSION).sql
VERSION_H = src/common/version.h
CONTRACTS = src/base/contracts.inc

# The install script is built of the files that order.txt names.  The upgrade
# from the version before is built of the same files, after the part in upgrade/
# that is written by hand.  Scripts of older versions lie in released/.
SQL_PARTS := $(addprefix sql/,$(shell sed 's/\#.*//' sql/order.txt))
BEFORE := $(patsubst sql/upgrade/%--$(EXTVERSION).sql,%,$(wildcard sql/upgrade/*--$(EXTVERSION).sql))
FIRST_PART = sql/base/library.sql
SQL_AWK = scripts/comments.awk scripts/variables.awk
UPGRADE_AWK = scripts/upgrade.awk scripts/columns.awk $(SQL_AWK)
UPGRADE = $(BEFORE)--$(EXTVERSION)
LOCKS = sql/upgrade/lock.sql
UPGRADE_SQL = sql/$(EXTENSION)--$(UPGRADE).sql

# Extensions on top of it, whose functions in C are in the library: extensions/NAME is twtasks_NAME.
TOPPINGS = $(patsubst extensions/%/order.txt,%,$(wildcard extensions/*/order.txt))
TOPPINGS_SQL = $(foreach name,$(TOPPINGS),extensions/$(name)/$(EXTENSION)_$(name)--$(EXTVERSION).sql)
TOPPINGS_UPGRADE_SQL = $(foreach name,$(TOPPINGS),$(if $(wildcard extensions/$(name)/upgrade/$(UPGRADE).sql),extensions/$(name)/$(EXTENSION)_$(name)--$(UPGRADE).sql))
TOPPINGS_CONTROL = $(foreach name,$(TOPPINGS),extensions/$(name)/$(EXTENSION)_$(name).control)

DATA_built = $(INSTALL_SQL) $(UPGRADE_SQL) $(TOPPINGS_SQL) $(TOPPINGS_UPGRADE_SQL) $(TOPPINGS_CONTROL)
DATA = $(sort $(wildcard sql/released/*.sql extensions/*/released/*.sql))

# Inputs lie in test/, expectations in the top-level expected/.  Without
# --outputdir PGXS would look for the isolation tests' in output_iso/.
REGRESS = $(sort $(basename $(notdir $(wildcard test/sql/*.sql))))
REGRESS_OPTS = --inputdir=test --load-extension=$(EXTENSION)
ISOLATION = $(sort $(basename $(notdir $(wildcard test/specs/*.spec))))
ISOLATION_OPTS = --inputdir=test --outputdir=. --load-extension=$(EXTENSION)

# Headers of others are system headers: warnings are about our own code.
PG_CPPFLAGS = -Isrc -MMD -MP -isystem $(shell $(PG_CONFIG) --includedir-server)
PG_CFLAGS = -Wextra -Wno-unused-parameter -Wno-missing-field-initializers \
	$(if $(WERROR),-Werror) $(if $(findstring clang,$(CC)),$(CLANG_CFLAGS))

# The server was built with gcc: flags and attributes that clang does not know.
CLANG_CFLAGS = -Wno-unknown-warning-option -Wno-ignored-optimization-argument \
	-Wno-ignored-attributes

# Hiding symbols is the linker's: before version 16 the server's macros do not
# mark what it must find, so that -fvisibility=hidden would hide too much.
SHLIB_LINK = -Wl,--version-script=src/exports.map
SHLIB_PREREQS = src/exports.map

EXTRA_CLEAN = $(STAMP) $(OBJS:.o=.d) $(VERSION_H) $(CONTRACTS) $(wildcard sql/$(EXTENSION)--*.sql.tmp extensions/*/*.tmp) \
	results output_iso log regression.diffs regression.out

# No bitcode: installing needs no clang, and calls into a server function are
# not worth inlining here.
override with_llvm = no

PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

TOLD = $(VERSION): $(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_SL) $(LDFLAGS) $(LDFLAGS_SL)
include lib/stamp.mk

$(OBJS): $(STAMP) | $(VERSION_H)
-include $(OBJS:.o=.d)

$(VERSION_H): $(EXTENSION).control
	@printf '%s\n' '/* Built from $(EXTENSION).control. */' \
		'#ifndef TWT_VERSION_H' '#define TWT_VERSION_H' '' \
		'#define TWT_VERSION "$(EXTVERSION)"' '' '#endif' >$@

# $(call joined,EXTENSION,FILES) -- makes the install script of the files
joined = printf '%s\n' '\echo Use "CREATE EXTENSION $1" to load this file. \quit' >$@.tmp && \
	for part in $2; do \
		printf '\n-- %s\n' "$$part" && sed 's/@extension@/$1/' "$$part" && awk -f scripts/comments.awk "$$part" || exit 1; \
	done >>$@.tmp && $(call named_anew,$@)

# Gives functions in C the symbols of this version, see src/base/contract.h, and lets
# variables go before columns.
named_anew = sed "/'MODULE_PATHNAME', /s/';/_needs_$(subst .,_,$(EXTVERSION))';/" $1.tmp | awk -f scripts/variables.awk >$1 && rm $1.tmp

# $(call upgraded,EXTENSION,FOLDER,FIRST,FILES) -- makes the upgrade script of the
# files: FIRST, which may refuse, then the locks, the part by hand, and the others
upgrade_part = awk -v extension=$1 -f scripts/upgrade.awk $2/released/$1--$(BEFORE).sql $2/upgrade/$(UPGRADE).sql
upgraded = { printf '%s\n\n' '\echo Use "ALTER EXTENSION $1 UPDATE" to load this file. \quit' && \
	awk -f scripts/columns.awk $2/released/$1--$(BEFORE).sql && $(upgrade_part) $3 && \
	cat $(LOCKS) $2/upgrade/$(UPGRADE).sql && printf '\n' && $(upgrade_part) $4 && \
	for part in $3 $4; do awk -f scripts/comments.awk "$$part" || exit 1; done; } >$@.tmp && \
	$(call named_anew,$@)

$(INSTALL_SQL): $(EXTENSION).control sql/order.txt $(SQL_AWK) $(SQL_PARTS) | checkver
	@$(call joined,$(EXTENSION),$(SQL_PARTS))

$(UPGRADE_SQL): $(INSTALL_SQL) $(UPGRADE_AWK) $(LOCKS) sql/upgrade/$(UPGRADE).sql sql/released/$(EXTENSION)--$(BEFORE).sql
	@$(call upgraded,$(EXTENSION),sql,$(FIRST_PART),$(filter-out $(FIRST_PART),$(SQL_PARTS)))

# Declarations that the library knows: see src/base/contract.h.
$(CONTRACTS): $(INSTALL_SQL) $(TOPPINGS_SQL) $(DATA) scripts/contracts.awk
	@awk -f scripts/contracts.awk $(filter-out %.awk,$^) >$@.tmp && mv $@.tmp $@

src/base/contract.o: $(CONTRACTS)

# parts NAME -- the files of the extension in extensions/NAME, in order; as in
# sql/order.txt, the owner comes before the rights
parts = extensions/core.sql $(subst extensions/$1/grants.sql,sql/base/owner.sql extensions/$1/grants.sql,\
	$(addprefix extensions/$1/,$(shell sed 's/\#.*//' extensions/$1/order.txt)))

define topping
extensions/$1/$(EXTENSION)_$1--$(EXTVERSION).sql: extensions/$1/order.txt $(SQL_AWK) $(call parts,$1)
	@$$(call joined,$(EXTENSION)_$1,$(call parts,$1))

extensions/$1/$(EXTENSION)_$1--$(UPGRADE).sql: extensions/$1/$(EXTENSION)_$1--$(EXTVERSION).sql $(UPGRADE_AWK) $(LOCKS) \
		extensions/$1/upgrade/$(UPGRADE).sql extensions/$1/released/$(EXTENSION)_$1--$(BEFORE).sql
	@$$(call upgraded,$(EXTENSION)_$1,extensions/$1,extensions/core.sql,$(filter-out extensions/core.sql,$(call parts,$1)))

extensions/$1/$(EXTENSION)_$1.control: extensions/$1/$1.control $(EXTENSION).control
	@{ grep -v '^\#' $$<; echo "default_version = '$(EXTVERSION)'"; } >$$@.tmp && mv $$@.tmp $$@
endef
$(foreach name,$(TOPPINGS),$(eval $(call topping,$(name))))

# Prints the compiler's flags, for the checks that do not go through a build.
.PHONY: flags checkver
flags:
	@echo '$(filter-out -MMD -MP,$(CPPFLAGS)) $(CFLAGS)'

# A version that nobody can name or that the changelog does not know is a slip.
checkver:
	@printf '%s\n' '$(EXTVERSION)' | grep -Eqx '[0-9]+\.[0-9]+(\.[0-9]+)?' || \
		{ echo '$(EXTENSION).control: no valid default_version' >&2; exit 1; }
	@grep -Eq '^## (Unreleased|$(subst .,\.,$(EXTVERSION)))' CHANGELOG.md || \
		{ echo 'CHANGELOG.md: knows neither $(EXTVERSION) nor Unreleased' >&2; exit 1; }
