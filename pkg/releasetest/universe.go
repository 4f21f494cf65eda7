package releasetest

import (
	"strings"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Universe says what a World is made of.
type Universe struct {
	// Product is whose names repositories have; "" is OCP.
	Product release.Product
	// Registry is the host that all references name; "" is quay.io. Only where it
	// is that of the registry which Push fills do clients find the content without
	// RegistriesConf.
	Registry string
	// Store is the address of the signature store that payloads name; "" is one
	// that does not exist, or for Serve the server itself.
	Store string
	// Keys sign everything; nil is FixedKeys.
	Keys *Keys
	// ComponentSize is what a component's image has, in bytes; 0 is 1 KiB.
	ComponentSize int

	Releases []Release
	// Channels are the versions in each channel, of whatever architecture.
	Channels map[string][]string
	Blocked  []Blocked
}

// A Release is one payload.
type Release struct {
	Version string
	// Arch is that of the payload; "" is release.DefaultArch. release.Multi makes
	// a manifest list of four release images.
	Arch release.Arch
	// Previous and Next are the versions that update to this one and that this one
	// updates to. Such that do not exist are left out of graphs.
	Previous, Next []string
	// URL is the erratum, and Metadata what is said of the release beside that.
	URL      string
	Metadata map[string]string
	// Components are the names of the images; nil is Components().
	Components []string
	// BootImages are the architectures that have a KubeVirt disk.
	BootImages []release.Arch
	// Gates are what administrators have to acknowledge before an update.
	Gates map[string]string
	// Sigstore tells that the payload holds a ClusterImagePolicy, and that there
	// are the signatures which it asks for.
	Sigstore bool
	Flaws    Flaws
}

// Flaws are what is wrong with a release. Images that are wrong are so in other
// releases, too, which have the same ones, alone or in a list.
type Flaws struct {
	// Absent are components whose images are nowhere.
	Absent []string
	// Unsigned tells that the signature store has nothing for the release, and
	// Missigned that what it has does not verify.
	Unsigned, Missigned bool
	// Keyless tells that the payload brings no keys for clusters that run it.
	Keyless bool
	// Unsealed are components without sigstore signatures; "" is the release image.
	Unsealed []string
}

// Blocked are updates that are not recommended, or gone where there is no Name.
type Blocked struct {
	To   string // a version, with "+amd64" where one architecture is meant
	From []string
	// Name, Message and URL are those of the risk.
	Name, Message, URL string
	// PromQL tells which clusters are concerned; "" is all of them.
	PromQL string
}

// Small is three minor versions with two releases each for amd64, the last two
// for all architectures together, too. From 4.18.1 to 4.20.2 the way by 4.19.2 has
// no risk, and that by 4.19.1 has two and then ends: the update from there to
// 4.20.2 was taken back.
func Small() Universe {
	const errata = "https://errata.example.com/2025/"
	var u Universe
	for _, r := range []struct{ version, previous string }{
		{"4.18.1", "4.17.9"}, // which is not there
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

// host is the registry that references name.
func (u *Universe) host() string {
	if u.Registry == "" {
		return "quay.io"
	}
	return u.Registry
}

// repositories are those of release images and of components, without a host.
func (u *Universe) repositories(version string) (releases, content string) {
	major, _, _ := strings.Cut(version, ".")
	if u.Product == release.OKD {
		return "okd/scos-release", "okd/scos-content"
	}
	return "openshift-release-dev/ocp-release", "openshift-release-dev/ocp-v" + major + ".0-art-dev"
}
