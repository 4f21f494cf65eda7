package install

import (
	"net/url"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
)

// ClassicOptions say how OLM classic installs a bundle.
type ClassicOptions struct {
	// InstallNamespace is where the operator runs. The default is the one that its publisher suggests, or
	// the name of the package.
	InstallNamespace string
	// Namespaces are those that the operator watches. The default is all, or its own if it does not support
	// that.
	Namespaces []string
	// Channel is the channel of the updates.
	Channel string
	// CatalogSource is the catalog: "openshift-marketplace/cs-index-v4-20".
	CatalogSource string
	// Manual lets an administrator approve each update.
	Manual bool
	// Proxy are variables for the operator: HTTP_PROXY, HTTPS_PROXY, NO_PROXY. Those that are empty are left
	// to OLM, which sets those of the cluster.
	Proxy Proxy
	// TrustedCA mounts the trusted CAs of the cluster where programs of RHEL look for them.
	TrustedCA bool
}

// Proxy has the addresses of proxies.
type Proxy struct{ HTTP, HTTPS, No string }

// Classic returns what installs a bundle with OLM classic: a Namespace, an OperatorGroup that fits the
// install modes of the operator, and a Subscription that starts at the bundle.
func Classic(b *Bundle, o ClassicOptions) (*Result, error) {
	namespace, namespaceObject, err := b.namespace(o.InstallNamespace)
	if err != nil {
		return nil, err
	}
	watched, err := b.watched(namespace, o.Namespaces, true)
	if err != nil {
		return nil, err
	}
	r := &Result{Namespace: namespace}
	if !everywhere(watched) {
		r.Watched = watched
	}
	if hasGlobalGroup(namespace) {
		if len(r.Watched) > 0 {
			return nil, advice.New(advice.Input, "set Options.InstallNamespace to another one", "operators in namespace %s watch all namespaces, and this one would watch %s", namespace, strings.Join(watched, ", "))
		}
		r.note("namespace %s has an OperatorGroup for all namespaces already; no other is written", namespace)
	} else {
		r.Objects = append(r.Objects, namespaceObject, operatorGroup(r))
		r.note("a namespace has exactly one OperatorGroup: if %[1]s has one already, leave this one out, and check that its targetNamespaces fit (oc -n %[1]s get operatorgroup -o yaml)", namespace)
	}
	if o.TrustedCA {
		r.Objects = append(r.Objects, Object{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": Object{"name": caConfigMap(b), "namespace": namespace, "labels": Object{injectCA: "true"}},
		})
	}
	subscription, err := b.subscription(&o, namespace)
	if err != nil {
		return nil, err
	}
	r.Objects = append(r.Objects, subscription)
	for _, mode := range b.unknownModes() {
		r.note("the install mode %s of bundle %s is unknown and is ignored", mode, b.Name)
	}
	r.kindNotes(b)
	for _, other := range r.Watched {
		if other != namespace {
			r.note("create namespace %s first", other)
		}
	}
	if o.Manual {
		r.note("approve the install plan once OLM has made it: oc -n %s get installplan, then oc -n %s patch installplan NAME --type merge -p '{\"spec\":{\"approved\":true}}'", namespace, namespace)
	}
	return r, nil
}

// hasGlobalGroup reports whether clusters come with an OperatorGroup for all namespaces in a namespace:
// "openshift-operators" in OpenShift, "operators" elsewhere. A namespace must not have two.
func hasGlobalGroup(namespace string) bool {
	return slices.Contains([]string{"openshift-operators", "operators"}, namespace)
}

// operatorGroup returns the OperatorGroup (operators.coreos.com/v1). Without target namespaces it selects
// all. Its name is the one of the namespace, so that the operators of a namespace share one: OLM installs
// nothing in a namespace with two.
func operatorGroup(r *Result) Object {
	spec := Object{"upgradeStrategy": "Default"}
	if len(r.Watched) > 0 {
		spec["targetNamespaces"] = r.Watched
	}
	return Object{"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": metadata(r.Namespace, r.Namespace), "spec": spec}
}

// injectCA is the label of a ConfigMap to which the network operator of OpenShift writes the trusted CAs of
// the cluster ("Injecting a custom CA certificate" in the documentation of OpenShift).
const injectCA = "config.openshift.io/inject-trusted-cabundle"

const (
	caVolume = "trusted-ca"
	caKey    = "ca-bundle.crt"
	caFile   = "tls-ca-bundle.pem"
	caFolder = "/etc/pki/ca-trust/extracted/pem"
)

func caConfigMap(b *Bundle) string { return b.Package + "-trusted-ca" }

// subscription returns the Subscription (operators.coreos.com/v1alpha1).
func (b *Bundle) subscription(o *ClassicOptions, namespace string) (Object, error) {
	approval := "Automatic"
	if o.Manual {
		approval = "Manual"
	}
	spec := Object{"name": b.Package, "startingCSV": b.Name, "installPlanApproval": approval}
	if o.Channel != "" {
		spec["channel"] = o.Channel
	}
	from, name, ok := strings.Cut(o.CatalogSource, "/")
	if !ok {
		return nil, advice.New(advice.Input, "", "the CatalogSource %q is not of the form NAMESPACE/NAME", o.CatalogSource)
	}
	spec["source"], spec["sourceNamespace"] = name, from
	env, err := o.Proxy.variables()
	if err != nil {
		return nil, err
	}
	config := Object{}
	if len(env) > 0 {
		config["env"] = env
	}
	if o.TrustedCA {
		config["volumes"] = []Object{{"name": caVolume, "configMap": Object{"name": caConfigMap(b), "items": []Object{{"key": caKey, "path": caFile}}}}}
		config["volumeMounts"] = []Object{{"name": caVolume, "mountPath": caFolder, "readOnly": true}}
	}
	if len(config) > 0 {
		spec["config"] = config
	}
	return Object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription", "metadata": metadata(namespace, b.Package), "spec": spec}, nil
}

// variables returns the environment variables for a proxy. An address with a password is an error: everybody
// who may read Subscriptions would read it.
func (p Proxy) variables() ([]Object, error) {
	var env []Object
	for _, v := range []struct{ name, value, option string }{
		{"HTTP_PROXY", p.HTTP, "Options.HTTPProxy"}, {"HTTPS_PROXY", p.HTTPS, "Options.HTTPSProxy"}, {"NO_PROXY", p.No, ""},
	} {
		if v.value == "" {
			continue
		}
		if v.option != "" {
			u, err := url.Parse(v.value)
			switch {
			case err != nil || u.Host == "":
				return nil, advice.New(advice.Input, "write http://HOST:PORT", "%s is not the address of a proxy", v.option)
			case u.User != nil:
				return nil, advice.New(advice.Input, "leave it out, and set it in the Proxy object of the cluster", "%s has a user or password, which a Subscription would show", v.option)
			}
		}
		env = append(env, Object{"name": v.name, "value": v.value})
	}
	return env, nil
}
