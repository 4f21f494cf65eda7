package install

import (
	"cmp"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/catalog/extension"
	"github.com/gantry-mirror/gantry/pkg/catalog/rbac"
)

// V1Options say how OLM v1 installs a bundle.
type V1Options struct {
	// InstallNamespace is where the operator runs. The default is the one that its publisher suggests, or
	// the name of the package.
	InstallNamespace string
	// Namespaces is the namespace that the operator watches. The default is all, or its own if it does not
	// support that.
	Namespaces []string
	// Channel is the channel of the updates.
	Channel string
	// ClusterCatalog is the name of the catalog. If it is "", OLM searches all.
	ClusterCatalog string
	// ServiceAccount is the name of the account that installs. The default is PACKAGE-installer.
	ServiceAccount string
	// CertManager says that OLM uses cert-manager for the certificates of webhooks. The default is the
	// service CA of OpenShift, which needs no objects.
	CertManager bool
	// Controller is the version of OLM v1. The default is one that uses the ServiceAccount, which all versions accept.
	Controller Controller
}

// catalogLabel is the label with which catalogd marks a ClusterCatalog with its name.
const catalogLabel = "olm.operatorframework.io/metadata.name"

// maxVersion is the limit of spec.source.catalog.version in the CRD.
const maxVersion = 64

// V1 returns what installs a bundle with OLM v1: a Namespace, a ServiceAccount with the fewest permissions if the version uses
// one, a ClusterExtension that is pinned to the version of the bundle, and ClusterRoles for the users of its
// APIs. A bundle that every OLM v1 refuses is an error of kind Input.
func V1(b *Bundle, o V1Options) (*Result, error) {
	if err := b.checkV1(); err != nil {
		return nil, err
	}
	namespace, namespaceObject, err := b.namespace(o.InstallNamespace)
	if err != nil {
		return nil, err
	}
	watched, err := b.watched(namespace, o.Namespaces, false)
	if err != nil {
		return nil, err
	}
	r := &Result{Namespace: namespace}
	if r.Account, err = b.account(namespace, &o); err != nil {
		return nil, err
	}
	if !everywhere(watched) {
		r.Watched = watched
	}
	rendered, err := b.rendered(namespace, watched, o.CertManager)
	if err != nil {
		return nil, err
	}
	r.Objects = append(r.Objects, namespaceObject)
	if o.Controller.UsesAccount() {
		r.Needs, r.own = rendered.needs(b.Package)
		r.grants = rendered.grants
		r.Objects = append(r.Objects, Object{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(namespace, r.Account.Name)})
		r.Objects = append(r.Objects, r.roles()...)
	}
	r.Objects = append(r.Objects, b.userRoles()...)
	r.Objects = append(r.Objects, b.clusterExtension(&o, r))
	r.v1Notes(b, rendered, &o)
	r.kindNotes(b)
	return r, nil
}

// account returns the ServiceAccount that installs, none if the version of OLM v1 uses none.
func (b *Bundle) account(namespace string, o *V1Options) (rbac.Account, error) {
	if !o.Controller.UsesAccount() {
		if o.ServiceAccount != "" {
			return rbac.Account{}, advice.New(advice.Input, "leave it out", "Options.ServiceAccount has no effect: %s installs with its own rights", o.Controller)
		}
		return rbac.Account{}, nil
	}
	a := rbac.Account{Namespace: namespace, Name: cmp.Or(o.ServiceAccount, b.Package+"-installer")}
	if !isSubdomain(a.Name) {
		return a, advice.New(advice.Input, "use lower case letters, digits, dashes and dots", "the ServiceAccount %q cannot be a name in a cluster", a.Name)
	}
	return a, nil
}

// checkV1 returns an error if OLM v1 refuses the bundle whatever its version and configuration, or if the
// bundle is invalid (rukpak/render/registryv1/validators).
func (b *Bundle) checkV1() error {
	refuse := func(format string, args ...any) error {
		return advice.New(advice.Input, "install it with OLM classic, or mirror another version", "OLM v1 does not install bundle "+b.Name+": "+format, args...)
	}
	if !isSubdomain(b.Package) {
		return refuse("its package name %q cannot be a name in a cluster", b.Package)
	}
	if len(b.Version) > maxVersion {
		return refuse("its version has %d characters, a ClusterExtension allows %d", len(b.Version), maxVersion)
	}
	for _, refusal := range b.refusals {
		// Without an install mode, the error of watched says what the operator supports.
		if refusal.Certain() && refusal.Reason != extension.NoImage && refusal.Reason != extension.NoInstallMode { // a bundle that was read from its image
			return refuse("it %s", refusal.Message)
		}
	}
	if fault := b.Fault(); fault != "" {
		return refuse("%s", fault)
	}
	return nil
}

// roles returns a role and its binding for each namespace in which the account needs permissions.
func (r *Result) roles() []Object {
	var objects []Object
	least := r.Needs.Roles()
	for _, namespace := range r.Needs.Namespaces() {
		if rules := least[namespace]; len(rules) > 0 {
			objects = append(objects, Role(namespace, r.Account.Name, rules), roleBinding(namespace, r.Account.Name, r.Account))
		}
	}
	return objects
}

// clusterExtension returns the ClusterExtension (olm.operatorframework.io/v1).
func (b *Bundle) clusterExtension(o *V1Options, r *Result) Object {
	from := Object{"packageName": b.Package, "version": b.Version}
	switch {
	case o.Channel == "":
	case isSubdomain(o.Channel):
		from["channels"] = []string{o.Channel}
	default:
		r.note("the ClusterExtension names no channel, because %q is not allowed there; the version selects the bundle", o.Channel)
	}
	if o.ClusterCatalog != "" {
		from["selector"] = Object{"matchLabels": Object{catalogLabel: o.ClusterCatalog}}
	}
	spec := Object{"namespace": r.Namespace, "source": Object{"sourceType": "Catalog", "catalog": from}}
	if o.Controller.UsesAccount() {
		spec["serviceAccount"] = Object{"name": r.Account.Name}
	}
	if len(r.Watched) > 0 {
		spec["config"] = Object{"configType": "Inline", "inline": Object{"watchNamespace": r.Watched[0]}}
	}
	return Object{"apiVersion": olmGroup + "/v1", "kind": "ClusterExtension", "metadata": metadata("", b.Package), "spec": spec}
}

// v1Notes adds what administrators have to know.
func (r *Result) v1Notes(b *Bundle, rendered *rendering, o *V1Options) {
	for _, mode := range b.unknownModes() {
		r.note("the install mode %s of bundle %s is unknown and is ignored", mode, b.Name)
	}
	for _, refusal := range b.refusals {
		if refusal.Reason == extension.Webhook {
			r.note("bundle %s %s", b.Name, refusal.Message)
		}
	}
	if len(r.Watched) > 0 {
		r.note("the operator watches namespace %s, set in spec.config of the ClusterExtension; OLM v1 accepts that only with its feature gate for single namespaces (NewOLMOwnSingleNamespace in OpenShift)", r.Watched[0])
		if r.Watched[0] != r.Namespace {
			r.note("create namespace %s first", r.Watched[0])
		}
	}
	if !o.Controller.UsesAccount() {
		rendered = &rendering{} // its notes are about the account
	}
	for _, t := range rendered.bound {
		r.note("the installer may bind the role %s, which the bundle does not contain, so that its rules are unknown", t.name)
	}
	if rendered.aggregates {
		r.note("the installer may escalate ClusterRoles, because one of the bundle collects the rules of others; that is as much as cluster-admin")
	}
	if o.ClusterCatalog == "" {
		r.note("the ClusterExtension selects no catalog: OLM v1 searches all")
	}
}
