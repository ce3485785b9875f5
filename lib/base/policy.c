#include "base/port.h"

#include "base/policy.h"

Policy *
policy_ref(Policy *policy)
{
	policy->refs++;
	return policy;
}

void
policy_unref(Policy *policy)
{
	if (policy == NULL)
		return;
	Assert(policy->refs > 0);
	if (--policy->refs > 0)
		return;
	pfree(policy->type);
	pfree(policy->retry);
	pfree(policy);
}
