package upgrade

import (
	"fmt"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
)

// kindOperatorCondition is the kind of the conditions of operators. Others are about the platform.
const kindOperatorCondition = "OperatorCondition"

// platformBlocks returns what keeps the cluster from being updated to another minor version. Updates to
// patches are not affected
// (https://github.com/openshift/cluster-version-operator/blob/main/docs/user/reconciliation.md).
func platformBlocks(conditions []installed.Condition) []Block {
	var all []Block
	for _, c := range conditions {
		if c.Kind == kindOperatorCondition {
			continue
		}
		all = append(all, Block{Kind: NotUpgradeable, Message: fmt.Sprintf("the cluster cannot be updated to another minor version (%s): %s; %s", c.Origin, c.Reason, remedy(c))})
	}
	return all
}

// remedy says how to remove a condition about the platform.
func remedy(c installed.Condition) string {
	if c.Kind == "ClusterVersion" && strings.HasPrefix(c.Reason, "spec.overrides") {
		return "remove the override before that update"
	}
	return fmt.Sprintf("resolve what it reports before that update: oc get %s %s -o yaml", strings.ToLower(c.Kind), c.Name)
}

// hold adds a block to the first hop of every path if the operator reported that it must not be updated.
// OLM v1 does not read such conditions.
func (r *Result) hold(o installed.Operator, conditions []installed.Condition) {
	if o.Generation != graph.Classic {
		return
	}
	for _, c := range conditions {
		if c.Kind != kindOperatorCondition || c.Namespace != o.Namespace || c.Name != o.Bundle {
			continue
		}
		text := fmt.Sprintf("OLM classic does not update %s while its condition Upgradeable is False (%s); resolve what it reports, or override it in spec.overrides of OperatorCondition %s/%s", o.Bundle, c.Reason, c.Namespace, c.Name)
		held := false
		for i := range r.Paths {
			if hops := r.Paths[i].Hops; len(hops) > 0 {
				hops[0].Blocks = append(hops[0].Blocks, Block{Kind: NotUpgradeable, Message: text})
				held = true
			}
		}
		if !held {
			r.note(text)
		}
	}
}
