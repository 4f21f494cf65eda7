package installed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The API groups of the kinds that say what is installed.
const (
	groupClassic = "operators.coreos.com"
	groupV1      = "olm.operatorframework.io"
)

// The kinds that say what is installed.
const (
	kindCSV          = "ClusterServiceVersion"
	kindSubscription = "Subscription"
	kindExtension    = "ClusterExtension"
)

// A file gathers what one input says.
type file struct {
	name string
	// found are operators, and what is left of their objects.
	found []record
	// clusters are the releases that clusters run.
	clusters []ClusterVersion
	// seen counts the objects of the wanted kinds, others those of other kinds
	// as "Kind (group)".
	seen   int
	others map[string]int
	lists  int
	// taken counts all objects, for the limit.
	taken int
}

// maxObjects is how many objects are read of one input: more than a cluster's
// database has room for.
const maxObjects = 1_000_000

// A record is an operator and what decides whether it counts.
type record struct {
	Operator
	phase, replaces string
}

// An object is a Kubernetes object. What is not asked for is not held.
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
		// Properties are those of the bundle; OLM copies them there.
		Properties string `json:"operatorframework.io/properties"`
	} `json:"annotations"`
}

// value takes one JSON value: an object, or a list of objects, each of which is
// taken as it comes.
func (f *file) value(d *jsontext.Decoder) error {
	if d.PeekKind() != jsontext.KindBeginObject {
		return fmt.Errorf("it holds something else than Kubernetes objects; print them with -o json: %s", wanted)
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	var o object
	var list bool
	var kindless []object
	for d.PeekKind() != jsontext.KindEndObject {
		name, err := d.ReadToken()
		if err != nil {
			return err
		}
		switch name.String() {
		case "apiVersion":
			err = decode(d, &o.APIVersion)
		case "kind":
			err = decode(d, &o.Kind)
		case "metadata":
			err = decode(d, &o.Metadata)
		case "spec":
			err = decode(d, &o.Spec)
		case "status":
			err = decode(d, &o.Status)
		case "items":
			list = true
			kindless, err = f.items(d)
		default:
			err = d.SkipValue()
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if !list {
		return f.take(o)
	}
	f.lists++
	// The objects of a list of one kind, as the API itself gives it, do not say
	// their kind: the list does, and often behind them.
	for _, item := range kindless {
		item.Kind, item.APIVersion = strings.TrimSuffix(o.Kind, "List"), o.APIVersion
		if err := f.take(item); err != nil {
			return err
		}
	}
	return nil
}

// items takes the objects of a list that say their kind, and returns the others.
func (f *file) items(d *jsontext.Decoder) (kindless []object, err error) {
	switch d.PeekKind() {
	case jsontext.KindNull:
		return nil, d.SkipValue()
	case jsontext.KindBeginArray:
	default:
		return nil, errors.New("the items of a list are not a list")
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	for d.PeekKind() != jsontext.KindEndArray {
		var o object
		if err := decode(d, &o); err != nil {
			return nil, err
		}
		if o.Kind == "" {
			kindless = append(kindless, o)
		} else if err := f.take(o); err != nil {
			return nil, err
		}
	}
	_, err = d.ReadToken()
	return kindless, err
}

// decode reads the next value. Its place in the input is part of the error.
func decode(d *jsontext.Decoder, into any) error {
	err := json.UnmarshalDecode(d, into)
	return placed(err, "")
}

// unmarshal reads a part of an object, which may be missing.
func unmarshal(o object, member string, text jsontext.Value, into any) error {
	if len(text) == 0 {
		return nil
	}
	err := json.Unmarshal(text, into, jsontext.AllowInvalidUTF8(true))
	return placed(err, fmt.Sprintf("%s %s: %s", o.Kind, o.title(), member))
}

// placed says what a value should have been, and where.
func placed(err error, where string) error {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return err
	}
	where += strings.ReplaceAll(string(semantic.JSONPointer), "/", ".")
	found := "something else than Kubernetes' API says"
	if semantic.JSONKind != 0 {
		found = "a JSON " + semantic.JSONKind.String() + ", which is not what Kubernetes' API says"
	}
	return fmt.Errorf("%s has %s", strings.TrimPrefix(where, "."), found)
}

// title is namespace/name.
func (o object) title() string {
	if o.Metadata.Namespace == "" {
		return o.Metadata.Name
	}
	return o.Metadata.Namespace + "/" + o.Metadata.Name
}

// group is the API group, "" for that of the core.
func (o object) group() string {
	group, _, grouped := strings.Cut(o.APIVersion, "/")
	if !grouped {
		return ""
	}
	return group
}

// take makes an operator of an object of a wanted kind, and counts the others.
func (f *file) take(o object) error {
	if f.taken++; f.taken > maxObjects {
		return fmt.Errorf("it has more than %d objects; %s", maxObjects, wanted)
	}
	var r record
	var counts bool
	var err error
	switch {
	case o.Kind == kindCSV && o.group() == groupClassic:
		r, counts, err = clusterServiceVersion(o)
	case o.Kind == kindSubscription && o.group() == groupClassic:
		r, counts, err = subscription(o)
	case o.Kind == kindExtension && o.group() == groupV1:
		r, counts, err = clusterExtension(o)
	case o.Kind == kindClusterVersion && o.group() == groupConfig:
		f.seen++
		clusters, err := clusterVersions(f.name, o)
		f.clusters = append(f.clusters, clusters...)
		return err
	default:
		f.others[strings.TrimSpace(fmt.Sprintf("%s of %s", orUnknown(o.Kind), orUnknown(o.APIVersion)))]++
		return nil
	}
	f.seen++
	if err != nil || !counts {
		return err
	}
	r.Origin = fmt.Sprintf("%s: %s %s", f.name, o.Kind, o.title())
	r.file = f.name
	f.found = append(f.found, r)
	return nil
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

// operators are those that count: all but the ones whose successor is there.
func (f *file) operators() []Operator {
	type place struct{ namespace, name string }
	replaced := map[place]bool{}
	for _, r := range f.found {
		if r.replaces != "" {
			replaced[place{r.Namespace, r.replaces}] = true
		}
	}
	var all []Operator
	for _, r := range f.found {
		if r.phase == phaseReplacing && replaced[place{r.Namespace, r.Name}] {
			continue
		}
		all = append(all, r.Operator)
	}
	return all
}

// judge says why an input has neither operators nor clusters.
func (f *file) judge() error {
	switch {
	case len(f.found)+len(f.clusters) > 0:
		return nil
	case f.seen > 0:
		return fmt.Errorf("nothing is installed: none of its %d objects is an operator or a cluster that runs (copies, what is being deleted, and what waits for its first install do not count)", f.seen)
	case f.others["Subscription of apps.open-cluster-management.io/v1"] > 0, f.others["Subscription of messaging.knative.dev/v1"] > 0:
		return fmt.Errorf("it holds Subscriptions that are not OLM's; print these with `oc get subscriptions.%s -A -o json`", groupClassic)
	case len(f.others) > 0:
		kinds := slices.Sorted(maps.Keys(f.others))
		if len(kinds) > 3 {
			kinds = append(kinds[:3], "more")
		}
		return fmt.Errorf("it holds %s; %s", strings.Join(kinds, ", "), wanted)
	case f.lists > 0:
		return fmt.Errorf("the list in it is empty: nothing is installed, or nothing that the user who printed it may see; %s", wanted)
	}
	return fmt.Errorf("it holds no object; %s", wanted)
}
