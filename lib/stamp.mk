# stamp.mk -- what the objects of a folder were compiled and linked with, for a Makefile
# that sets TOLD.  Objects depend on the stamp, so that other flags, another compiler or
# another server make all of them anew: no server loads objects made for another.
#
# -Werror does not count, since it changes no object.
#
# Variables: AS_BUILT=1 (takes objects as they are: sudo drops variables of the build)

STAMP = build.stamp

.PHONY: force
$(STAMP): export TWT_TOLD = $(filter-out -Werror,$(TOLD))
$(STAMP): $(if $(AS_BUILT),,force)
	@printf '%s\n' "$$TWT_TOLD" | cmp -s - $@ || printf '%s\n' "$$TWT_TOLD" >$@
