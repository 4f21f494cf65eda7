package gantry

import (
	"cmp"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/imageset"
	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
	"github.com/gantry-mirror/gantry/plan/selection"
	"github.com/gantry-mirror/gantry/plan/trust"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// A Place is where content is: a registry, a disk or a layout. The zero value is no place.
type Place struct {
	scheme  string
	folders []string // or the address of a registry
}

// Registry is a registry that clusters pull from: HOST[:PORT][/PREFIX].
func Registry(address string) Place { return Place{env.RegistryScheme, []string{address}} }

// Disk is an archive in a folder. For reading, further folders may have the archives that it builds on.
func Disk(folders ...string) Place { return Place{env.ArchiveScheme, folders} }

// Layout is an OCI image layout in a folder.
func Layout(folder string) Place { return Place{env.LayoutScheme, []string{folder}} }

// String returns the place as results name it: docker://HOST, file://DIR or oci://DIR.
func (p Place) String() string { return strings.Join(p.locations(), ", ") }

func (p Place) locations() (all []string) {
	return elements.Map(p.folders, func(folder string) string { return p.scheme + folder })
}

// check returns an error unless the place is of one of some kinds, which wanted describes.
func (p Place) check(option, wanted string, schemes ...string) error {
	for _, scheme := range schemes {
		if p.scheme == scheme && len(p.folders) > 0 && p.folders[0] != "" {
			return nil
		}
	}
	if p.scheme == "" {
		return advice.New(advice.Input, "set it to "+wanted, "%s is not set", option)
	}
	return advice.New(advice.Input, "set it to "+wanted, "%s is %q", option, p)
}

// A Configuration says what is mirrored: an ImageSetConfiguration.
type Configuration struct {
	name  string
	text  []byte
	value *imageset.Config
}

// ConfigFile is the configuration in a file.
func ConfigFile(path string) Configuration { return Configuration{name: path} }

// ConfigText is a configuration as YAML or JSON. Its name is like the name of a file: an image set is called so, without
// the extension.
func ConfigText(name string, text []byte) Configuration {
	return Configuration{name: cmp.Or(name, defaultName), text: append([]byte{}, text...)}
}

// ConfigValue is a configuration that a program made, with a name as for ConfigText.
func ConfigValue(name string, value imageset.Config) Configuration {
	return Configuration{name: cmp.Or(name, defaultName), value: &value}
}

// defaultName is the name of an image set without one.
const defaultName = "imageset"

func (c Configuration) selection() selection.Selection {
	return selection.Selection{Config: c.name, Text: c.text, Value: c.value}
}

// Content is what Plan, Mirror and Export select, and which of it they accept. Config is required.
type Content struct {
	Config Configuration
	// Name is the name of the image set. The default is the one of Config, without folder and extension.
	Name string
	// Installed are files with what clusters run, as oc get -o json writes them. The upgrade paths from
	// there are kept.
	Installed []string
	// ReleaseKeys are OpenPGP files: platform releases must be signed by a key of each, in place of the
	// vendor's keys.
	ReleaseKeys []string
	// ImagePolicy is a policy.json (containers-policy.json(5)): only images that it accepts are selected.
	ImagePolicy string
}

// check returns an error if nothing is selected.
func (c *Content) check(option string) error {
	if c.Config.name == "" {
		return advice.New(advice.Input, "set it to a ConfigFile, ConfigText or ConfigValue", "%s.Config is not set", option)
	}
	return nil
}

func (c *Content) selection() selection.Selection {
	s := c.Config.selection()
	s.Installed = c.Installed
	return s
}

func (c *Content) releases() updates.ReleaseTrust {
	return updates.ReleaseTrust{ReleaseKeys: c.ReleaseKeys}
}

func (c *Content) images() trust.ImageTrust { return trust.ImageTrust{Policy: c.ImagePolicy} }

// Blobs says which blobs of a destination a run asks for, or reads.
type Blobs int

const (
	// SomeBlobs asks a registry for some blobs, different ones in each run.
	SomeBlobs Blobs = iota
	// EveryBlob asks a registry for every blob, and copies what is missing.
	EveryBlob
	// ReadBlobs reads every manifest and blob, and compares it with its digest.
	ReadBlobs
)

// Keys sign and open disks. The zero value signs nothing and opens no encrypted disk.
type Keys struct {
	// Sign signs what is written.
	Sign *sshsig.Key
	// Trusted says whose signatures are accepted. Nil checks none of a disk that is read.
	Trusted *sshsig.Policy
	// Identities decrypt disks that are read.
	Identities []age.Identity
}

// policy returns the policy for signatures, or nil.
func (k *Keys) policy() *sshsig.Policy {
	if k.Trusted == nil {
		return nil
	}
	p := *k.Trusted
	if p.Now.IsZero() {
		p.Now = time.Now()
	}
	return &p
}

func (k *Keys) reading() archive.OpenOptions {
	return archive.OpenOptions{Signatures: k.policy(), Identities: k.Identities}
}
