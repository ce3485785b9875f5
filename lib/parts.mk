# parts.mk -- how a program takes its parts of lib, for a Makefile that has set TOP.

PARTS = $(TOP)/lib/libtwtasks.a

$(PARTS): force
	@$(MAKE) --no-print-directory -C $(TOP)/lib all
