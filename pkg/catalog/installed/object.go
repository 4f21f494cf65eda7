package installed

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The API groups of the kinds that are read.
const (
	groupClassic = "operators.coreos.com"
	groupV1      = "olm.operatorframework.io"
)

// The kinds that are read, besides ClusterVersion.
const (
	kindCSV          = "ClusterServiceVersion"
	kindSubscription = "Subscription"
	kindExtension    = "ClusterExtension"
)

// A file collects the content of one input.
type file struct {
	name string
	// found are the operators, with further fields of their objects.
	found []record
	// clusters are the releases of clusters.
	clusters []ClusterVersion
	// catalogs and mirrors are further objects of clusters.
	catalogs []Catalog
	mirrors  []MirrorRule
	// conditions keep something from being updated; judged counts the objects that may have some.
	conditions []Condition
	judged     int
	// seen counts the objects of the supported kinds, others those of other kinds, as "Kind of
	// group/version".
	seen   int
	others map[string]int
	lists  int
	// taken counts all objects, for the limit.
	taken int
}

// maxObjects is the maximum number of objects in one input, more than fit into the database of a
// cluster.
const maxObjects = 1_000_000

// A record is an operator with the fields that decide whether it is ignored.
type record struct {
	Operator
	phase, replaces string
}

// An object is a Kubernetes object, reduced to the fields that are read.
type object struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   metadata       `json:"metadata"`
	Spec       jsontext.Value `json:"spec"`
	Status     jsontext.Value `json:"status"`
}

type metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace"`
	Labels      map[string]string `json:"labels"`
	Annotations struct {
		// Properties are those of the bundle, copied by OLM.
		Properties string `json:"operatorframework.io/properties"`
	} `json:"annotations"`
}

// decode reads the next value. The error has its position in the input.
func decode(d *jsontext.Decoder, into any) error {
	err := json.UnmarshalDecode(d, into)
	return typeError(err, "")
}

// unmarshal reads a part of an object, which may be missing.
func unmarshal(o object, member string, text jsontext.Value, into any) error {
	if len(text) == 0 {
		return nil
	}
	err := json.Unmarshal(text, into, jsontext.AllowInvalidUTF8(true))
	return typeError(err, fmt.Sprintf("%s %s: %s", o.Kind, o.title(), member))
}

// typeError describes a value of the wrong type, and its position.
func typeError(err error, where string) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return err
	}
	where += strings.ReplaceAll(string(semantic.JSONPointer), "/", ".")
	found := "a value that the Kubernetes API does not allow"
	if semantic.JSONKind != 0 {
		found = "a JSON " + semantic.JSONKind.String() + ", which the Kubernetes API does not allow"
	}
	return fmt.Errorf("%s has %s", strings.TrimPrefix(where, "."), found)
}

// title returns namespace/name.
func (o object) title() string {
	if o.Metadata.Namespace == "" {
		return o.Metadata.Name
	}
	return o.Metadata.Namespace + "/" + o.Metadata.Name
}

// group returns the API group, "" for the core group.
func (o object) group() string {
	group, _, grouped := strings.Cut(o.APIVersion, "/")
	if !grouped {
		return ""
	}
	return group
}

func orUnknown(s string) string {
	return cmp.Or(s, "unknown")
}

// operators returns the operators without those that their successor is replacing.
func (f *file) operators() []Operator {
	type key struct{ namespace, name string }
	replaced := map[key]bool{}
	for _, r := range f.found {
		if r.replaces != "" {
			replaced[key{r.Namespace, r.replaces}] = true
		}
	}
	var all []Operator
	for _, r := range f.found {
		if r.phase == phaseReplacing && replaced[key{r.Namespace, r.Name}] {
			continue
		}
		all = append(all, r.Operator)
	}
	return all
}

// checkContent returns an error if an input has neither operators nor clusters.
func (f *file) checkContent() error {
	switch {
	case len(f.found)+len(f.clusters)+f.judged > 0:
		return nil
	case f.seen > 0:
		return fmt.Errorf("nothing is installed: none of its %d objects is an installed operator or a running cluster (copies, objects that are being deleted, and pending first installations do not count)", f.seen)
	case f.others["Subscription of apps.open-cluster-management.io/v1"] > 0, f.others["Subscription of messaging.knative.dev/v1"] > 0:
		return fmt.Errorf("it has Subscriptions that are not OLM's; print those of OLM with `oc get subscriptions.%s -A -o json`", groupClassic)
	case len(f.others) > 0:
		if f.others["unknown of unknown"] > 0 {
			return fmt.Errorf("it has objects without kind and apiVersion; %s", wanted)
		}
		kinds := slices.Sorted(maps.Keys(f.others))
		if len(kinds) > 3 {
			kinds = append(kinds[:3], "more")
		}
		return fmt.Errorf("it has %s; %s", strings.Join(kinds, ", "), wanted)
	case f.lists > 0:
		return fmt.Errorf("its list is empty: nothing is installed, or the user who printed it may not see it; %s", wanted)
	}
	return fmt.Errorf("it has no objects; %s", wanted)
}
