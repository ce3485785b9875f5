# worker.mk -- how a bundled program is built: its Makefile sets NAME, OBJS and, for
# libraries of its own, LIBS.

.DEFAULT_GOAL = all
PREFIX ?= /usr/local
MANUAL = $(DESTDIR)$(PREFIX)/share/man/man8/$(NAME).8
TOP = ../..
include $(TOP)/lib/flags.mk
include $(TOP)/lib/parts.mk

# From workers/lib; a program without tasks has another frame.
FRAME ?= worker_line.o task_line.o worker_reply.o

OBJS += main.o
OBJS += helper_main.o				# lines in and out
OBJS += $(FRAME)					# ... a task and what became of it
OBJS += worker_hello.o				# ... a hello
OBJS += worker_fault.o				# ... and what is wrong with it

.PHONY: all install uninstall clean
all: $(NAME)

$(NAME): $(OBJS) $(PARTS)
	$(LINK) $^ $(LIBS) -o $@

vpath %.c ../lib ../curl

$(OBJS): | $(PARTS)
-include $(OBJS:.o=.d)

install: all
	install -D -m 755 $(NAME) '$(DESTDIR)$(PREFIX)/bin/$(NAME)'
	install -D -m 644 /dev/null '$(MANUAL)'
	scdoc <$(TOP)/docs/man/$(NAME).8.scd >'$(MANUAL)'

uninstall:
	rm -f '$(DESTDIR)$(PREFIX)/bin/$(NAME)' '$(MANUAL)'

clean:
	rm -f $(NAME) $(STAMP) $(OBJS) $(OBJS:.o=.d)
