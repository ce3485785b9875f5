# Table of contents: "make help" prints it.  The work is done by extension.mk
# (PGXS), the Makefiles of lib, sidecar, web, tools and workers, and scripts/.
#
# Variables: those of lib/flags.mk, and
# WITH_KAFKA=no (no twtasks-kafka)
# WITH_ZOOKEEPER=no (no twtasks-zookeeper)

include lib/told.mk
ifeq ($(origin PG_CONFIG),undefined)
PG_CONFIG := $(shell scripts/pg-config)
endif
# By its whole path, since sudo has another PATH.
override PG_CONFIG := $(or $(shell command -v '$(PG_CONFIG)'),$(PG_CONFIG))
export PG_CONFIG

WORKERS = workers/run workers/http workers/notify $(if $(filter no,$(WITH_KAFKA)),,workers/kafka) \
	$(if $(filter no,$(WITH_ZOOKEEPER)),,workers/zookeeper)

EXTENSION_MK = -f extension.mk PG_CONFIG='$(PG_CONFIG)'

# Root's rights are asked for only where they are needed.
SUDO = $(if $(DESTDIR),,$(shell test -w "$$($(PG_CONFIG) --pkglibdir)" || echo sudo))
AS_BUILT = AS_BUILT=1 PG_CONFIG='$(PG_CONFIG)'

.DEFAULT_GOAL = all
.PHONY: all extension lib sidecar web ui tools workers version install uninstall demo demo-kafka demo-kinds check check-edition check-servers check-release check-cassert check-memcheck check-upgrade check-api models unit \
	installcheck isolation pgtap tap format format-check lint asan valgrind \
	torture nth-call campaign-limits campaign-kafka campaign-events campaign-kinds campaign-notify campaign-lives check-helpers check-mariadb bench bench-peers bench-schedule bench-views bench-api bench-pages bench-large bench-what-if bench-attempts bench-burn-pair bench-clean bench-commits bench-edition bench-slots bench-counters bench-http bench-events bench-kinds bench-kafka-outbox bench-kafka-listen bench-kafka-queue bench-neutral bench-saturation bench-start docs clean help

all: extension sidecar web tools workers ## builds the extension, the sidecar, twtasks-web, twtasksctl and the workers

extension: version told
	$(MAKE) $(EXTENSION_MK) all

lib: version told
	$(MAKE) -C lib all

sidecar: lib
	$(MAKE) -C sidecar all

web: lib
	$(MAKE) -C web all

ui: ## builds the page of twtasks-web anew, into web/ui/dist; needs node 18 and npm
	@scripts/ui

tools: lib
	$(MAKE) -C tools all

workers: lib
	set -e; for worker in $(WORKERS); do $(MAKE) -C $$worker all; done

# Both halves include it; made first, so that -j does not make it twice.
version:
	@$(MAKE) --no-print-directory -s $(EXTENSION_MK) src/common/version.h

sql: ## writes the SQL edition, for servers without our library, as one file for psql
	@scripts/edition >twtasks.sql.tmp && mv twtasks.sql.tmp twtasks.sql

.PHONY: sql install-extension install-programs packages check-packages check-containers
ifdef GO_ON
$(INSTALLS): go-on
else
install-extension: extension ## installs the extension alone, on a database server
	$(SUDO) $(MAKE) $(AS_BUILT) -f extension.mk install

install-programs: sidecar web tools workers
	$(SUDO) $(MAKE) $(AS_BUILT) -C sidecar install
	$(SUDO) $(MAKE) $(AS_BUILT) -C web install
	$(SUDO) $(MAKE) $(AS_BUILT) -C tools install
	$(SUDO) $(MAKE) $(AS_BUILT) -C share install
	set -e; for worker in $(WORKERS); do $(SUDO) $(MAKE) $(AS_BUILT) -C $$worker install; done

install: install-extension install-programs ## installs them, with sudo where needed
endif

packages: ## builds Debian packages of both halves, into packages/; installs what that needs
	@scripts/packages

uninstall: ## removes them
	$(SUDO) $(MAKE) $(AS_BUILT) -f extension.mk uninstall
	$(SUDO) $(MAKE) $(AS_BUILT) -C sidecar uninstall
	$(SUDO) $(MAKE) $(AS_BUILT) -C web uninstall
	$(SUDO) $(MAKE) $(AS_BUILT) -C tools uninstall
	$(SUDO) $(MAKE) $(AS_BUILT) -C share uninstall
	set -e; for worker in $(WORKERS); do $(SUDO) $(MAKE) $(AS_BUILT) -C $$worker uninstall; done

demo: ## shows a task's life on a server of its own; installs what is missing
	@scripts/demo

demo-kinds: ## shows ordered events and kinds of task, with a bank that loses answers
	@scripts/demo-kinds

demo-kafka: ## shows Kafka and ZooKeeper with twtasks, on servers of its own
	@scripts/demo-kafka

check: ## everything CI runs, on servers it starts and stops itself
	@scripts/check

check-edition: ## tests in SQL and of TAP with the SQL edition in place of the extension
	@scripts/check --edition

check-servers: ## before a release: the tests on every supported server and system
	@scripts/check-servers --release

check-release: ## all that must pass before a release, from asan to check-servers, and which of it failed
	@scripts/check-release

check-upgrade: install ## updates the last release under load, in each order of the steps
	@scripts/check-upgrade

check-containers: ## the images by podman, as the page on containers says, and tasks in them
	@scripts/check-containers

check-packages: ## packages twice, and their use in new systems of each release of Debian, with systemd
	@scripts/check-packages

check-api: ## requests that a generator makes of the API's description, for minutes
	@TWT_API_SECONDS=$(or $(SECONDS),300) scripts/check test/t/153_api_description.pl

check-cassert: ## the tests on a PostgreSQL with assertions, which it builds of Debian's source
	@scripts/check-cassert $(TESTS)

check-memcheck: ## tests on a PostgreSQL under valgrind's memcheck, which it builds of Debian's source
	@scripts/check-cassert --memcheck $(TESTS)

models: ## all questions to the models of test/models, with the long ones
	@scripts/setup check
	@scripts/models --long

unit: ## unit tests of all programs, and of the plain C that they share with the extension
	@scripts/check unit

installcheck: ## SQL regression tests against the installed extension
	@scripts/check installcheck

isolation: ## races between sessions
	@scripts/check isolation

pgtap: ## tests written in SQL
	@scripts/check pgtap

tap: ## whole systems: restarts, crashes, the sidecar end to end
	@scripts/check tap

format: ## writes the C code in the house style
	@scripts/format

format-check: ## says what "make format" would change
	@scripts/format --check

lint: ## builds with all warnings, static analysis, house rules
	@scripts/lint

asan: ## unit tests with the address and undefined-behaviour sanitizers
	@scripts/unit asan

valgrind: ## unit tests under valgrind
	@scripts/unit valgrind

.PHONY: simulate simulate-mutants simulate-conformance fuzz
fuzz: ## parsers with random bytes: MINUTES=10 in all, or of some targets, TARGET="json cron"
	@scripts/setup check
	@scripts/fuzz $(or $(MINUTES),10) $(TARGET)

simulate: ## sidecars on a simulated server: SEEDS=1000 FROM=1 of random faults, or SEED=1 with its history, as ACTS=1,5-7 make it; SHORTEN=1
	@scripts/simulate $(if $(SEED),$(if $(SHORTEN),--minimize,--tell) $(SEED) $(ACTS),$(SEEDS) $(FROM))

simulate-mutants: ## how many seeds of the simulation it takes to find each planted fault
	@scripts/simulate-mutants $(SEEDS)

simulate-conformance: install ## the simulation's model beside the extension: SEEDS=1000 random histories; MUTANTS=1 plants faults in the model
	@scripts/simulate-conformance $(if $(MUTANTS),--mutants) $(SEEDS)

torture: install ## all faults at random, judged by independent witnesses: MINUTES=10 SEED=1 BATCH=600; RUNS=20 for many seeds in turn
	@$(if $(RUNS),scripts/torture-runs $(RUNS),scripts/torture) $(or $(MINUTES),10) "$(SEED)" $(BATCH)

nth-call: install ## each system call of a program fails once: TARGET=twtasksd, election, twtasks-web, twtasksctl, twtasks-http, twtasks-notify, twtasks-kafka, listen, triggers, twtasks-zookeeper or twtasks-import, PART=10 for a tenth, CALLS="read|write"
	@scripts/nth-call $(or $(TARGET),twtasksd) $(or $(PART),1) $(if $(CALLS),'$(CALLS)')

campaign-limits: install ## crashes under limits of the whole cluster, many thousands
	@scripts/campaign-limits $(CRASHES)

campaign-kafka: install ## ten minutes of random kills of brokers and sidecars, under load
	@scripts/campaign-kafka $(CAMPAIGN)

check-helpers: install ## applications with each helper, as docs/helpers.md says, by the frameworks' own means
	@scripts/check-helpers

check-mariadb: install ## copies tasks of TwTasks from a real MariaDB, as a page says
	@scripts/check-mariadb

campaign-events: install ## ten minutes of random kills, while processes add ordered events
	@scripts/campaign-events $(CAMPAIGN)

campaign-kinds: install ## ten minutes of random kills, while a third party fails in every way
	@scripts/campaign-kinds $(CAMPAIGN)

campaign-notify: install ## receivers of incidents that are down, and sidecars that are gone, in real time
	@scripts/campaign-notify $(CAMPAIGN)

campaign-lives: install ## 10,000 random lives of tasks, against life() and task_at()
	@TWT_TEST_LIVES=$(or $(LIVES),10000) scripts/check test/pgtap/lives_ring.sql

bench: install ## measures, on a server of its own
	@bench/run

bench-peers: install ## measures the peers and us: bench/peers/README.md
	@bench/peers/run

bench-neutral: install ## measures twtasks and rivals in a harness of others
	@bench/neutral/run $(CELLS)

bench-saturation: install ## measures the size of the table of live tasks at full rate, with a held snapshot and without
	@bench/saturation

bench-start: install ## measures how soon a lone task starts, beside a commit of the same session
	@bench/start

bench-schedule: install ## measures how late due tasks start, beside a million that wait
	@bench/schedule

bench-views: install ## measures the views that people look at, beside millions of tasks
	@bench/views

bench-large: install ## measures views, why() and twtasksctl beside millions of tasks
	@bench/large

bench-what-if: install ## measures what_if_limit() against what happens
	@bench/what-if

bench-attempts: install ## measures what a try costs the server, by its result
	@bench/attempts

bench-burn-pair: install ## measures burn-downs of two builds or configurations in pairs, or beside viewers
	@bench/burn-pair

bench-commits: install ## measures commits with a task where twtasks is not preloaded
	@bench/commits

bench-edition: install ## measures the SQL edition beside the library
	@bench/edition

bench-api: install ## measures one task and the overview of the management API, beside a million tasks
	@bench/api

bench-pages: install ## measures what people who look at the page cost the database, and how long they wait
	@bench/pages

bench-counters: sidecar ## measures what the counters of a sidecar cost for each task
	@bench/counters

bench-http: workers ## measures how many HTTP requests a second are sent
	@bench/http

bench-events: install ## measures how many ordered events a second are sent
	@bench/events/run

bench-kinds: install ## measures what start() and the end of a step of a kind cost the server
	@bench/kinds

bench-kafka-outbox: install ## measures how many messages a second go from a commit to Kafka
	@bench/kafka/run outbox

bench-kafka-listen: install ## measures how many messages a second become tasks
	@bench/kafka/run listen

bench-kafka-queue: install ## measures triggers through Kafka against the ring
	@bench/kafka/run queue

bench-slots: install ## measures how two sidecars share a limit of the whole cluster
	@bench/slots

bench-clean: install ## measures how fast old history is cleaned, beside others that finish
	@bench/clean

bench-growing: install ## measures what docs/growing.md starts from
	@bench/growing/measure

docs: sidecar web ## writes the pages of docs/ that come from the sources
	@scripts/docs
	@scripts/docs-state-machine
	@scripts/docs-kinds
	@scripts/docs-api
	@scripts/docs-configuration

clean: ## removes what was built
	@$(MAKE) --no-print-directory -s $(EXTENSION_MK) clean
	@$(MAKE) --no-print-directory -s -C lib clean
	@$(MAKE) --no-print-directory -s -C sidecar clean
	@$(MAKE) --no-print-directory -s -C web clean
	@$(MAKE) --no-print-directory -s -C tools clean
	@set -e; for worker in $(WORKERS); do $(MAKE) --no-print-directory -s -C $$worker clean; done
	@$(MAKE) --no-print-directory -s -C test/unit clean
	@$(MAKE) --no-print-directory -s -C test/campaign clean
	@$(MAKE) --no-print-directory -s -C test/simulation clean
	@$(MAKE) --no-print-directory -s -C test/fuzz clean
	@$(MAKE) --no-print-directory -s -C test/simulation/conformance clean
	@rm -rf check-output $(TOLD_FILE)

help: ## prints this
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
		expand -t 15
