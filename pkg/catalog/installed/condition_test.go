package installed_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gantry-mirror/gantry/pkg/catalog/installed"
	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestReadConditions(t *testing.T) {
	t.Parallel()
	const operator = `{"apiVersion":"operators.coreos.com/v2","kind":"OperatorCondition","metadata":{"name":"otter.v1.0.0","namespace":"zoo"},`
	const component = `{"apiVersion":"config.openshift.io/v1","kind":"ClusterOperator","metadata":{"name":"network"},`
	const version = `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","metadata":{"name":"version"},`
	const refuses = `"status":{"conditions":[{"type":"Available","status":"True"},{"type":"Upgradeable","status":"False","reason":"Migrating","message":"wait"}]}}`
	for _, tc := range []struct{ name, input, want string }{
		{"an operator", operator + refuses, "OperatorCondition zoo/otter.v1.0.0 Migrating: wait f: OperatorCondition zoo/otter.v1.0.0"},
		{"an override permits", operator + `"spec":{"overrides":[{"type":"Upgradeable","status":"True"}]},` + refuses, ""},
		{"an override refuses", operator + `"spec":{"overrides":[{"type":"Upgradeable","status":"False","reason":"Frozen"}]}}`,
			"OperatorCondition zoo/otter.v1.0.0 Frozen f: OperatorCondition zoo/otter.v1.0.0"},
		{"another condition", operator + strings.ReplaceAll(refuses, "Upgradeable", "Degraded"), ""},
		{"a component", component + refuses, "ClusterOperator /network Migrating: wait f: ClusterOperator network"},
		{"without a reason", component + `"status":{"conditions":[{"type":"Upgradeable","status":"False"}]}}`, "ClusterOperator /network without a reason f: ClusterOperator network"},
		{"the cluster", version + refuses, "ClusterVersion /version Migrating: wait f: ClusterVersion version"},
		{"overrides", version + `"spec":{"overrides":[{"kind":"Deployment","group":"apps","namespace":"zoo","name":"gate","unmanaged":true},{"kind":"Deployment","name":"x","unmanaged":false}]},` +
			strings.ReplaceAll(refuses, "Migrating", "ClusterVersionOverridesSet"),
			"ClusterVersion /version spec.overrides excludes Deployment zoo/gate from updates f: ClusterVersion version"},
	} {
		// A release makes every input one of a running cluster.
		input := tc.input + `{"apiVersion":"config.openshift.io/v1","kind":"ClusterVersion","status":{"desired":{"version":"4.20.1"}}}`
		c, err := installed.Read("f", strings.NewReader(input))
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		var got []string
		for _, x := range c.Conditions {
			got = append(got, strings.Join([]string{x.Kind, x.Namespace + "/" + x.Name, x.Reason, x.Origin}, " "))
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
	// A file with nothing but conditions is no error, even if all are good.
	_, err := installed.Read("f", strings.NewReader(operator+`"status":{}}`))
	fail.On(t, err)
}
