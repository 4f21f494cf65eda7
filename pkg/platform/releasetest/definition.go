package releasetest

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Definition describes a Platform.
type Definition struct {
	// Product determines the names of the repositories; "" is OCP.
	Product release.Product
	// Registry is the host of all references; "" is quay.io. Clients find the content without
	// RegistriesConf only if it is the registry that Push fills.
	Registry string
	// Store is the address of the signature store in payloads. The default does not exist; for
	// Serve, it is the server.
	Store string
	// BootServer is the address of the folder with BootFiles. The default does not exist.
	BootServer string
	// Keys sign everything; nil is FixedKeys.
	Keys *Keys
	// ComponentSize is the size of the image of a component in bytes; 0 is 1 KiB.
	ComponentSize int

	Releases []Release
	// Channels are the versions in each channel, for all architectures.
	Channels map[string][]string
	Blocked  []Blocked
}

// A Release is one payload.
type Release struct {
	Version string
	// Arch is the architecture of the payload; "" is release.DefaultArch. release.Multi makes a
	// manifest list of four release images.
	Arch release.Arch
	// Previous are versions that can be updated to this one, and Next are versions that this one
	// can be updated to. Graphs ignore versions that do not exist.
	Previous, Next []string
	// URL is the address of the erratum, and Metadata is more metadata of the release.
	URL      string
	Metadata map[string]string
	// Components are the names of the images; nil is Components().
	Components []string
	// BootImages are the architectures with a KubeVirt disk.
	BootImages []release.Arch
	// BootFiles are the files that machines boot from: the content of each by architecture, kind and
	// part, "amd64/metal/iso/disk". Their names at BootServer are those of BootFile.
	BootFiles map[string]string
	// Gates are the acknowledgments that administrators must give before an update.
	Gates map[string]string
	// Manifests are more manifests of operators, by the name of their file.
	Manifests map[string]string
	// Samples are the image streams of the component cluster-samples-operator: the images of each, by
	// the name of the stream. They are the same for all architectures.
	Samples map[string][]string
	// Tools puts scripts in place of the programs that administrators use into ToolComponents. They
	// have the placeholders of real programs.
	Tools bool
	// Sigstore adds a ClusterImagePolicy to the payload, and the signatures that the policy
	// requires.
	Sigstore bool
	Flaws    Flaws
}

// Flaws are the defects of a release. A missing or unsigned image is missing or unsigned in every
// release that contains it, directly or in a manifest list.
type Flaws struct {
	// Missing are components whose images do not exist.
	Missing []string
	// With Unsigned, the signature store has no signature of the release; with InvalidSignature,
	// its signature is invalid.
	Unsigned, InvalidSignature bool
	// With NoKeys, the payload contains no keys for the clusters that run it.
	NoKeys bool
	// NoSigstore are components without sigstore signatures; "" is the release image.
	NoSigstore []string
}

// Blocked are updates that are not recommended, or that are removed if Name is empty.
type Blocked struct {
	To   string // a version, with "+amd64" where one architecture is meant
	From []string
	// Name, Message and URL describe the risk.
	Name, Message, URL string
	// PromQL selects the clusters with the risk; "" is all clusters.
	PromQL string
}

// Small returns a Definition of three minor versions with two releases each for amd64. The last two
// releases also have payloads for all architectures. From 4.18.1 to 4.20.2, the path through 4.19.2
// has no risk. The path through 4.19.1 has two risks and then ends, because the update from 4.19.1
// to 4.20.2 was removed.
func Small() Definition {
	const errata = "https://errata.example.com/2025/"
	var u Definition
	for _, r := range []struct{ version, previous string }{
		{"4.18.1", "4.17.9"}, // does not exist
		{"4.18.2", "4.17.9 4.18.1"},
		{"4.19.1", "4.18.1 4.18.2"},
		{"4.19.2", "4.18.1 4.18.2 4.19.1"},
		{"4.20.1", "4.19.1 4.19.2"},
		{"4.20.2", "4.19.1 4.19.2 4.20.1"},
	} {
		u.Releases = append(u.Releases, Release{Version: r.version, Previous: strings.Fields(r.previous), URL: errata + r.version})
	}
	for i := range u.Releases[4:] {
		r := &u.Releases[4+i]
		r.Sigstore = true
		r.BootImages = []release.Arch{"amd64"}
		r.Gates = map[string]string{"ack-4.20-sigstore-in-4.21": "Mirrors have to hold the signatures of images before an update to 4.21."}
		multi := *r
		multi.Arch = release.Multi
		multi.BootImages = []release.Arch{"amd64", "s390x"}
		u.Releases = append(u.Releases, multi)
	}
	u.Channels = map[string][]string{
		"stable-4.18": {"4.18.1", "4.18.2"},
		"stable-4.20": {"4.18.1", "4.18.2", "4.19.1", "4.19.2", "4.20.1"},
		"fast-4.20":   {"4.18.1", "4.18.2", "4.19.1", "4.19.2", "4.20.1", "4.20.2"},
		"eus-4.20":    {"4.18.1", "4.18.2", "4.19.2", "4.20.1", "4.20.2"},
	}
	u.Blocked = []Blocked{
		{
			To: "4.19.1", From: []string{"4.18.1", "4.18.2"}, Name: "PausedPools",
			Message: "Machines of paused pools lose the network.", URL: "https://issues.example.com/PausedPools",
			PromQL: `max(cluster_paused_pools{_id=""})`,
		},
		{
			To: "4.20.1", From: []string{"4.19.1"}, Name: "SlowPulls",
			Message: "Images with many layers are pulled slowly.", URL: "https://issues.example.com/SlowPulls",
		},
		{To: "4.20.2", From: []string{"4.19.1"}},
	}
	return u
}

// host returns the registry of all references.
func (u *Definition) host() string {
	if u.Registry == "" {
		return "quay.io"
	}
	return u.Registry
}

// repositories returns the repositories of release images and of components, without the host.
func (u *Definition) repositories(version string) (releases, content string) {
	major, _, _ := strings.Cut(version, ".")
	if u.Product == release.OKD {
		return "okd/scos-release", "okd/scos-content"
	}
	return "openshift-release-dev/ocp-release", "openshift-release-dev/ocp-v" + major + ".0-art-dev"
}
