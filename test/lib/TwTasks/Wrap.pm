# Wrap.pm -- lets a function of the extension fail as no healthy server would.

package TwTasks::Wrap;

use strict;
use warnings FATAL => 'all';

use Exporter qw(import);

our @EXPORT = qw(wrap unwrap);

# Each call of the function runs these statements of PL/pgSQL first.
sub wrap
{
	my ($node, $function, $statements) = @_;

	$node->value(<<"SQL");
		DO \$do\$
		DECLARE
			wrapper CONSTANT text := (
				SELECT format(
					\$\$ CREATE FUNCTION twtasks_internal.$function(%s) RETURNS %s
					LANGUAGE plpgsql SECURITY DEFINER AS \$f\$
					BEGIN
						$statements
						RETURN QUERY SELECT * FROM twtasks_internal.wrapped_$function(%s);
					END \$f\$ \$\$,
					pg_get_function_arguments(oid), pg_get_function_result(oid),
					(SELECT string_agg('\$' || i, ', ') FROM generate_series(1, pronargs) i))
				FROM pg_proc WHERE oid = 'twtasks_internal.$function'::regproc);
		BEGIN
			ALTER FUNCTION twtasks_internal.$function RENAME TO wrapped_$function;
			EXECUTE wrapper;
		END \$do\$
SQL
	return;
}

sub unwrap
{
	my ($node, $function) = @_;

	$node->value(<<"SQL");
		BEGIN;
		DROP FUNCTION twtasks_internal.$function;
		ALTER FUNCTION twtasks_internal.wrapped_$function RENAME TO $function;
		COMMIT
SQL
	return;
}

1;
