package releases

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/file/durable"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
)

// ManifestOptions says which manifests of a release ReleaseManifests returns.
type ManifestOptions struct {
	ReleaseOptions
	// Included selects the manifests that a cluster has: with the profile, the feature set and the
	// capabilities below, or with their defaults: payload.DefaultProfile, payload.DefaultFeatureSet and
	// payload.AllCapabilities.
	Included bool
	// Profile, FeatureSet and CapabilitySet are those of the cluster. Without Included, each filters
	// only if it is set. Capabilities are enabled in addition to CapabilitySet, which is None without
	// Included.
	Profile, FeatureSet, CapabilitySet string
	Capabilities                       []string
	// CredentialsRequests selects only these, and Cloud those of a cloud provider (payload.Clouds).
	CredentialsRequests bool
	Cloud               string
	// File selects the manifests of one file.
	File string
}

// A ReleaseManifestList is the result of ReleaseManifests.
type ReleaseManifestList struct {
	Version   int               `json:"version"`
	Release   string            `json:"release"`
	Manifests []ReleaseManifest `json:"manifests"`

	// files are image-references and release-metadata, if all manifests may be written.
	files map[string][]byte
}

// A ReleaseManifest is an object of a release.
type ReleaseManifest struct {
	File         string   `json:"file"`
	APIVersion   string   `json:"apiVersion"`
	Kind         string   `json:"kind"`
	Namespace    string   `json:"namespace,omitempty"`
	Name         string   `json:"name"`
	Capabilities []string `json:"capabilities,omitempty"`
	Profiles     []string `json:"profiles,omitempty"`
	FeatureSets  []string `json:"featureSets,omitempty"`
	// Cloud is the provider of a CredentialsRequest.
	Cloud string `json:"cloud,omitempty"`
	// Text is the object as YAML or JSON.
	Text []byte `json:"-"`
}

// ReleaseManifests returns manifests of a release in the order in which a cluster applies them. They are
// those of other operators; the cluster version operator's own are not among them.
func ReleaseManifests(ctx context.Context, o ManifestOptions) (*ReleaseManifestList, error) {
	e, done := o.Env.OrDefault()
	defer done()
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := openRelease(ctx, e, o.ReleaseOptions)
	if err != nil {
		return nil, err
	}
	defer s.close()
	p, c, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	inclusion, err := o.inclusion(p.Version, c.Manifests)
	if err != nil {
		return nil, err
	}
	list := &ReleaseManifestList{Version: 1, Release: p.Version, Manifests: []ReleaseManifest{}}
	var files []string
	for i := range c.Manifests {
		m := &c.Manifests[i]
		files = append(files, m.File)
		listed, err := o.listed(m, inclusion)
		if err != nil {
			return nil, err
		}
		if listed != nil {
			list.Manifests = append(list.Manifests, *listed)
		}
	}
	if o.File != "" && !slices.Contains(files, o.File) {
		return nil, env.InputHint(cmp.Or(suggest.Phrase(o.File, slices.Compact(files)), "list them with -o json"), "release %s has no manifest file %q", p.Version, o.File)
	}
	if !o.CredentialsRequests && o.File == "" {
		list.files = map[string][]byte{"image-references": c.References, "release-metadata": c.Metadata}
	}
	return list, nil
}

// check returns an error if options are invalid or contradict each other.
func (o *ManifestOptions) check() error {
	if o.Cloud != "" && !o.CredentialsRequests {
		return env.InputHint("set Options.CredentialsRequests", "Options.Cloud is for CredentialsRequests")
	}
	return oneOf("Options.Cloud", o.Cloud, payload.Clouds())
}

// oneOf returns an error unless a value is empty or known.
func oneOf(option, value string, known []string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return env.InputHint(cmp.Or(suggest.Phrase(value, known), "give one of "+strings.Join(known, ", ")), "%s %q is unknown", option, value)
}

// inclusion returns the filter for the manifests of a release. Names that neither the release nor
// OpenShift knows are errors.
func (o *ManifestOptions) inclusion(version string, manifests []payload.Manifest) (payload.Inclusion, error) {
	i := payload.Inclusion{Profile: o.Profile, FeatureSet: o.FeatureSet}
	set := o.CapabilitySet
	if o.Included {
		i.Profile = cmp.Or(i.Profile, payload.DefaultProfile)
		i.FeatureSet = cmp.Or(i.FeatureSet, payload.DefaultFeatureSet)
		set = cmp.Or(set, payload.AllCapabilities)
	}
	known := payload.KnownCapabilities(manifests)
	all := slices.Concat(known, payload.CapabilitySet("v4.18", nil))
	slices.Sort(all)
	for _, name := range o.Capabilities {
		if err := oneOf("capability", name, slices.Compact(all)); err != nil {
			return i, err
		}
	}
	profiles := append(payload.KnownProfiles(manifests), payload.DefaultProfile)
	for _, err := range []error{
		oneOf("Options.CapabilitySet", set, payload.CapabilitySets()), oneOf("Options.Profile", o.Profile, profiles),
		oneOf("Options.FeatureSet", o.FeatureSet, payload.KnownFeatureSets(manifests)),
	} {
		if err != nil {
			return i, err
		}
	}
	if set != "" || len(o.Capabilities) > 0 {
		i.Capabilities = append(payload.CapabilitySet(cmp.Or(set, payload.NoCapabilities), known), o.Capabilities...)
	}
	return i.Of(version, manifests)
}

// listed returns the entry for a manifest, nil if it is not selected.
func (o *ManifestOptions) listed(m *payload.Manifest, inclusion payload.Inclusion) (*ReleaseManifest, error) {
	request := m.IsCredentialsRequest()
	if o.CredentialsRequests && !request || o.File != "" && m.File != o.File {
		return nil, nil
	}
	// A CredentialsRequest without annotations belongs to every cluster, as in oc.
	if inclusion.Exclude(m) != "" && (!request || len(m.Annotations) > 0) {
		return nil, nil
	}
	listed := &ReleaseManifest{
		File: m.File, APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name,
		Capabilities: m.Capabilities(), Profiles: m.Profiles(), FeatureSets: m.FeatureSets(), Text: m.Text,
	}
	if request {
		var err error
		if listed.Cloud, err = m.Cloud(); err != nil {
			return nil, err
		}
		if o.Cloud != "" && listed.Cloud != o.Cloud {
			return nil, nil
		}
	}
	return listed, nil
}

// WriteYAML writes the manifests as a YAML stream, each after "---".
func (l *ReleaseManifestList) WriteYAML(w io.Writer) error {
	for i := range l.Manifests {
		if _, err := w.Write(l.Manifests[i].document()); err != nil {
			return err
		}
	}
	return nil
}

// document returns the object as a YAML document.
func (m *ReleaseManifest) document() []byte {
	text := append([]byte("---\n"), m.Text...)
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return text
}

// WriteFiles writes the manifests to a folder, as oc adm release extract does: under the names of their
// files, each with the selected objects, and unless manifests were selected by kind or file, also
// image-references and release-metadata. The folder is created if it does not exist; existing files are
// replaced. It returns the names of the files, sorted.
func (l *ReleaseManifestList) WriteFiles(dir string) ([]string, error) {
	files := map[string][]byte{}
	for i := range l.Manifests {
		m := &l.Manifests[i]
		files[m.File] = append(files[m.File], m.document()...)
	}
	maps.Copy(files, l.files)
	var names []string
	for name := range files {
		if !filepath.IsLocal(name) || filepath.Base(name) != name || strings.ContainsAny(name, `\:`) {
			return nil, fmt.Errorf("release %s has a file called %q, which is not a safe name", l.Release, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if err := durable.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // what was written is synced
	for _, name := range names {
		if err := (durable.Folder{Root: root}).WriteFile(name, files[name]); err != nil {
			return nil, fmt.Errorf("writing %s: %w", filepath.Join(dir, name), err)
		}
	}
	return names, nil
}
