# worker.mk -- how a bundled worker is built: its Makefile sets NAME, OBJS and, for
# libraries of its own, LIBS.

.DEFAULT_GOAL = all
PREFIX ?= /usr/local
TOP = ../..
include $(TOP)/lib/flags.mk
include $(TOP)/lib/parts.mk

OBJS += main.o
OBJS += worker_main.o				# lines in and out (workers/lib)
OBJS += worker_fault.o				# ... and what is wrong with a hello
OBJS += task_line.o					# ... and a task
OBJS += worker_reply.o				# ... and what became of it

# The build takes also the files that the list lacks; a lint reports them.
UNLISTED := $(sort $(filter-out $(OBJS),$(patsubst %.c,%.o,$(wildcard *.c))))
OBJS += $(UNLISTED)

.PHONY: all install uninstall clean unlisted
all: $(NAME)

$(NAME): $(OBJS) $(PARTS)
	$(CC) $(CFLAGS) $(LDFLAGS) $^ $(LIBS) -o $@

vpath %.c ../lib

%.o: %.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c $< -o $@

$(OBJS): | $(PARTS)
-include $(OBJS:.o=.d)

unlisted:
	@echo $(UNLISTED)

install: all
	install -D -m 755 $(NAME) '$(DESTDIR)$(PREFIX)/bin/$(NAME)'

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/$(NAME)'

clean:
	rm -f $(NAME) $(OBJS) $(OBJS:.o=.d)
