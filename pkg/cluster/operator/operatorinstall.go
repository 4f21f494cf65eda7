package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/catalog"
	"github.com/gantry-mirror/gantry/pkg/catalog/graph"
	"github.com/gantry-mirror/gantry/pkg/catalog/install"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/plan/listing"
)

// OpenShiftWithAccount are the versions of OpenShift whose OLM v1 uses the account of a ClusterExtension.
const OpenShiftWithAccount = install.OpenShiftWithAccount

// The generations of OLM, for InstallOptions.
const (
	OLMV1      = "v1"
	OLMClassic = "classic"
)

// Who approves the updates of a Subscription, for InstallOptions.
const (
	ApprovalAutomatic = "automatic"
	ApprovalManual    = "manual"
)

// InstallOptions say which operator is installed, and how.
type InstallOptions struct {
	Env *env.Env
	// Workspace is the folder that was used for the mirror. It has the names of the catalogs in clusters,
	// and says where the bundle is if neither From nor Catalog is set. The default is env.DefaultWorkspace.
	Workspace string
	// From is what the bundle is read from: a mirror ("docker://HOST[:PORT][/PREFIX]"), a layout ("oci://DIR"),
	// or the folders of an archive and of those that it builds on ("file://DIR").
	From []string
	// Read and Sequence are those of open.Options, for an archive.
	Read     archive.OpenOptions
	Sequence int
	// Catalog selects one of several catalogs with the package, by its source or its reference or
	// repository in the mirror. Without From, it is the catalog that is read: an image, a folder or a file.
	Catalog string

	Package string
	// Channel is the default channel if it is empty, and Version the one of the head of the channel.
	Channel, Version string
	// InstallNamespace is where the operator runs. The default is what its publisher suggests, or the name
	// of the package. Namespace are those that it watches; the default is all, or its own.
	InstallNamespace string
	Namespace        []string
	// OLM is OLMV1 (the default) or OLMClassic.
	OLM string

	// For is the OLM v1 of the cluster: "openshift-4.20" or "operator-controller-1.11". Since operator-controller 1.11, it
	// installs with its own rights, and ServiceAccount and roles are left out. The default is before 1.11.
	For string
	// ServiceAccount is the account with which OLM v1 installs. The default is PACKAGE-installer.
	ServiceAccount string
	// CertManager says that OLM v1 has the certificates of webhooks made by cert-manager.
	CertManager bool

	// Approval is for OLM classic: ApprovalManual, the default with Version, or ApprovalAutomatic.
	Approval string
	// HTTPProxy, HTTPSProxy and NoProxy are set for an operator of OLM classic. TrustedCA mounts the CAs
	// that the cluster trusts.
	HTTPProxy, HTTPSProxy, NoProxy string
	TrustedCA                      bool
}

// Install is what installs an operator. Its JSON is what gantry cluster operator install --output json
// prints.
type Install struct {
	Version       int    `json:"version"`
	OLM           string `json:"olm"`
	Package       string `json:"package"`
	Bundle        string `json:"bundle"`
	BundleVersion string `json:"bundleVersion"`
	Channel       string `json:"channel"`
	// Catalog is the catalog as the configuration names it, or its reference in the mirror.
	Catalog string `json:"catalog"`
	// Namespace is where the operator runs, Watched what it watches; none for all namespaces.
	Namespace string   `json:"namespace"`
	Watched   []string `json:"watched,omitempty"`
	// Objects are in the order in which they are to be applied.
	Objects []install.Object `json:"objects"`
	// Notes are sentences about what the objects do not say.
	Notes []string `json:"notes"`

	result *install.Result
}

// NewInstall returns the objects that install a mirrored operator in a cluster. It writes nothing.
func NewInstall(ctx context.Context, o InstallOptions) (*Install, error) {
	e, done := o.Env.OrDefault()
	defer done()
	return installOperator(ctx, e, &o)
}

func installOperator(ctx context.Context, e *env.Env, o *InstallOptions) (*Install, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := openOperators(ctx, e, o)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	from, p, err := s.find(ctx, o)
	if err != nil {
		return nil, err
	}
	channel, picked, err := pickBundle(p, o.Channel, o.Version)
	if err != nil {
		return nil, err
	}
	b, err := s.bundle(ctx, from, picked)
	if err != nil {
		return nil, err
	}
	out := &Install{
		Version: 1, OLM: cmp.Or(o.OLM, OLMV1), Package: p.Name, Bundle: picked.Name, BundleVersion: picked.Version.String(),
		Channel: channel, Catalog: from.Source,
	}
	if out.OLM == OLMClassic {
		out.result, err = from.installClassic(b, o, channel)
	} else {
		out.result, err = from.installV1(b, o, channel)
	}
	if err == nil && out.OLM == OLMV1 {
		err = checkPinned(out.result.Objects, p, picked)
	}
	if err != nil {
		return nil, err
	}
	out.Namespace, out.Watched, out.Objects = out.result.Namespace, out.result.Watched, out.result.Objects
	out.Notes = append([]string{}, out.result.Notes...)
	if !from.recorded {
		out.Notes = append(out.Notes, fmt.Sprintf("the workspace %s has no name for catalog %s: check that the objects name it as the cluster does", env.WorkspaceDir(o.Workspace), from.Source))
	}
	return out, nil
}

// check returns an error if options are missing or contradict each other.
func (o *InstallOptions) check() error {
	oneOf := func(option, value string, values ...string) error {
		if value == "" || slices.Contains(values, value) {
			return nil
		}
		return env.Inputf("Options.%s %q: give %s", option, value, strings.Join(values, " or "))
	}
	err := errors.Join(oneOf("OLM", o.OLM, OLMV1, OLMClassic), oneOf("Approval", o.Approval, ApprovalAutomatic, ApprovalManual))
	classic := o.Approval+o.HTTPProxy+o.HTTPSProxy+o.NoProxy != "" || o.TrustedCA
	switch {
	case err != nil:
		return err
	case o.Package == "":
		return env.Inputf("Options.Package is missing: name the package")
	case classic && o.OLM != OLMClassic:
		return env.InputHint("set Options.OLM to "+OLMClassic+", or leave them out", "Options.Approval, Options.TrustedCA and proxies are settings of a Subscription")
	case (o.ServiceAccount != "" || o.CertManager || o.For != "") && o.OLM == OLMClassic:
		return env.InputHint("leave them out", "Options.ServiceAccount, Options.CertManager and Options.For are for OLM v1")
	}
	_, _, err = o.controller()
	return err
}

// installV1 returns what installs a bundle of the catalog with OLM v1.
func (c *Catalog) installV1(b *install.Bundle, o *InstallOptions, channel string) (*install.Result, error) {
	object, err := c.ClusterCatalog()
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	controller, note, err := o.controller()
	if err != nil {
		return nil, err
	}
	r, err := install.V1(b, install.V1Options{
		InstallNamespace: o.InstallNamespace, Namespaces: o.Namespace, Channel: channel, ClusterCatalog: object.Name,
		ServiceAccount: o.ServiceAccount, CertManager: o.CertManager, Controller: controller,
	})
	if err == nil && note != "" {
		r.Notes = append(r.Notes, note)
	}
	return r, err
}

// controller returns the version of OLM v1, and a note about what is assumed or "".
func (o *InstallOptions) controller() (install.Controller, string, error) {
	if o.For == "" {
		return install.Controller{}, "the ServiceAccount and its roles are for an operator-controller before 1.11, as OpenShift " + install.OpenShiftWithAccount + " have; later ones ignore them: give Options.For to say which the cluster has", nil
	}
	c, note, err := install.ParseController(o.For)
	if err != nil {
		return c, "", env.Inputf("Options.For %w", err)
	}
	return c, note, nil
}

// installClassic returns what installs a bundle of the catalog with OLM classic.
func (c *Catalog) installClassic(b *install.Bundle, o *InstallOptions, channel string) (*install.Result, error) {
	name, err := c.CatalogSourceName()
	if err != nil {
		return nil, advice.Wrap(advice.Input, err, "")
	}
	return install.Classic(b, install.ClassicOptions{
		InstallNamespace: o.InstallNamespace, Namespaces: o.Namespace, Channel: channel, CatalogSource: name,
		Manual: o.Approval == ApprovalManual || o.Approval == "" && o.Version != "",
		Proxy:  install.Proxy{HTTP: o.HTTPProxy, HTTPS: o.HTTPSProxy, No: o.NoProxy}, TrustedCA: o.TrustedCA,
	})
}

// pickBundle returns a bundle of a package, and a channel that has it.
func pickBundle(p *catalog.Package, channel, version string) (string, *catalog.Bundle, error) {
	channels := p.Channels
	if channel != "" || version == "" {
		name := cmp.Or(channel, p.DefaultChannel)
		if err := listing.CheckChannel(p, name); err != nil {
			return "", nil, err
		}
		channels = []*catalog.Channel{p.Channel(name)}
	} else {
		// The default channel first, then the others by name.
		channels = slices.Clone(channels)
		isDefault := func(c *catalog.Channel) bool { return c.Name == p.DefaultChannel }
		if i := slices.IndexFunc(channels, isDefault); i > 0 {
			first := channels[i]
			channels = slices.Insert(slices.Delete(channels, i, i+1), 0, first)
		}
	}
	if version == "" {
		heads := graph.Inspect(channels[0].Entries).Heads
		if len(heads) == 0 || p.Bundle(heads[0]) == nil {
			return "", nil, fmt.Errorf("channel %s of package %s has no bundle at its head", channels[0].Name, p.Name)
		}
		b := p.Bundle(heads[0])
		return channels[0].Name, b, versionError(b)
	}
	var versions []string
	for _, c := range channels {
		for _, entry := range c.Entries {
			if b := p.Bundle(entry.Name); b != nil && b.VersionErr == nil {
				if b.Version.String() == version {
					return c.Name, b, nil
				}
				versions = append(versions, b.Version.String())
			}
		}
	}
	slices.Sort(versions)
	versions = slices.Compact(versions)
	hint := suggest.Phrase(version, versions)
	if hint == "" && len(versions) <= 20 {
		hint = "it has " + strings.Join(versions, ", ")
	}
	where := "package " + p.Name
	if channel != "" {
		where = "channel " + channel + " of " + where
	}
	return "", nil, env.InputHint(hint, "%s has no version %s", where, version)
}

func versionError(b *catalog.Bundle) error {
	if b.VersionErr != nil {
		return fmt.Errorf("bundle %s: %w", b.Name, b.VersionErr)
	}
	return nil
}

// YAML returns the objects as YAML documents.
func (i *Install) YAML() ([]byte, error) { return install.YAML(i.Objects) }
