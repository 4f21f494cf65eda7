package imageset

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/blang/semver/v4"

	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/release"
)

const fileScheme = "file://"

func products() grammar {
	return nameOf("type", []string{string(release.OCP), string(release.OKD)},
		map[string]string{"openshift": string(release.OCP), "origin": string(release.OKD), "scos": string(release.OKD)})
}

// payloads is the grammar of the architectures of payloads.
func payloads() grammar {
	known := elements.Map(release.Arches(), func(a release.Arch) string { return string(a) })
	return nameOf("architecture", known, otherArchitectures())
}

// payload is the grammar of a release image.
func payload() grammar {
	g := source()
	images := g.check
	g.check = func(s string) (string, string) {
		if v, err := semver.Parse(strings.TrimPrefix(s, "v")); err == nil {
			image := reference.Reference{Host: payloadHost, Path: payloadPath, Tag: release.Name(v.String(), release.DefaultArch)}
			return quote(s) + " is a version, not an image", fmt.Sprintf("write %q", clip(image.String()))
		}
		return images(s)
	}
	return g
}

// The repository of OpenShift's payloads.
const (
	payloadHost = "quay.io"
	payloadPath = "openshift-release-dev/ocp-release"
)

// releaseChannelName is the grammar of a channel of an update service (openshift/cincinnati,
// policy-engine).
func releaseChannelName() grammar {
	repair := func(s string) (string, string) {
		if lower := strings.ToLower(s); lower != s && releaseChannels().MatchString(lower) {
			return lower, "has upper case letters"
		}
		return s, ""
	}
	return grammar{max: 253, pattern: channelPattern, late: true, repair: repair, check: func(s string) (string, string) {
		if releaseChannels().MatchString(s) {
			return "", ""
		}
		return quote(s) + " is not the name of a channel", `use lower case letters, digits, . and -, such as "stable-4.20"`
	}}
}

const channelPattern = `^[0-9a-z.-]+$`

var releaseChannels = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(channelPattern) })

// addressPattern matches http and https addresses without a user and without a fragment, since
// clients do not send fragments to servers.
const addressPattern = `^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]+)?(/[^#\s]*)?$`

var addresses = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(addressPattern) })

// graphPath is the path of the graph in an update service. The status of the service has the
// address without it.
const graphPath = "/api/upgrades_info/v1/graph"

// serviceAddress is the grammar of the address of an update service.
func serviceAddress() grammar {
	return grammar{pattern: addressPattern, check: func(s string) (string, string) {
		if message, hint := addressFault(s); message != "" {
			return message, hint
		}
		_, host, _ := strings.Cut(s, "://")
		if bare := strings.TrimRight(s, "/"); !strings.Contains(strings.TrimRight(host, "/"), "/") {
			return quote(s) + " has no path", fmt.Sprintf("write %q", clip(bare)+graphPath)
		}
		return "", ""
	}}
}

// addressOrPath is the grammar of a local file or a file on a server.
func addressOrPath() grammar {
	return grammar{check: func(s string) (string, string) {
		if strings.Contains(s, "://") && !strings.HasPrefix(s, fileScheme) {
			return addressFault(s)
		}
		return pathFault(s)
	}}
}

// signatureStore is the grammar of a signature store: a folder or an address.
func signatureStore() grammar {
	return grammar{pattern: addressPattern + "|^" + fileScheme + ".", check: func(s string) (string, string) {
		dir, ok := strings.CutPrefix(s, fileScheme)
		switch {
		case ok && dir == "":
			return quote(s) + " names no folder", fmt.Sprintf("write %q", fileScheme+"/path/to/folder")
		case ok:
			return "", ""
		case !strings.Contains(s, "://"):
			return quote(s) + " is not an address", fmt.Sprintf("write a folder as %q", fileScheme+clip(s))
		}
		return addressFault(s)
	}}
}

// filePath is the grammar of a path.
func filePath() grammar { return grammar{check: pathFault} }

func pathFault(s string) (message, hint string) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return "", ""
	}
	hint = "give the path of a file"
	if scheme+"://" == fileScheme && rest != "" {
		hint = fmt.Sprintf("write %q", clip(rest))
	}
	return quote(scheme+"://") + " is not part of a path", hint
}

// addressFault returns what is wrong with an http or https address. The message does not contain an
// address that may have a password.
func addressFault(s string) (message, hint string) {
	const form = `write "https://host/path"`
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		rest = s
	}
	host, _, _ := strings.Cut(rest, "/")
	switch {
	case addresses().MatchString(s):
		return "", ""
	case strings.Contains(host, "@"):
		return "the address contains a user or a password", "remove it, because configurations are often shared"
	case ok && scheme != "http" && scheme != "https":
		return quote(scheme+"://") + " is not http or https", form
	case !ok && addresses().MatchString("https://"+s):
		return quote(s) + " is not an http or https address", fmt.Sprintf("write %q", clip("https://"+s))
	}
	return quote(s) + " is not an http or https address", form + ", without a fragment (#)"
}
