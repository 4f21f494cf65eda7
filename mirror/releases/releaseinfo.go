package releases

import (
	"cmp"
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/env"
	"github.com/gantry-mirror/gantry/pkg/platform/payload"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// ReleaseInfo is what a release image says of a release. Its JSON is what gantry release info --output
// json prints.
type ReleaseInfo struct {
	Version int           `json:"version"`
	Release string        `json:"release"` // "4.20.5"
	Arch    release.Arch  `json:"arch"`
	Source  string        `json:"source"`
	Digest  digest.Digest `json:"digest"`
	URL     string        `json:"url,omitempty"`
	// Previous and Next are the versions with updates to and from the release, as of its build.
	Previous []string          `json:"previous,omitempty"`
	Next     []string          `json:"next,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Software []Software        `json:"software,omitempty"`
	// Capabilities, Profiles and FeatureSets are those that manifests name, and Manifests is the number
	// of all manifests.
	Capabilities []string `json:"capabilities,omitempty"`
	Profiles     []string `json:"profiles,omitempty"`
	FeatureSets  []string `json:"featureSets,omitempty"`
	Manifests    int      `json:"manifests"`
	// Gates are what administrators have to acknowledge before an update to the next minor version.
	Gates  []ReleaseGate  `json:"gates,omitempty"`
	Images []ReleaseImage `json:"images"`
}

// Software is the version of software in a release.
type Software struct {
	Name    string `json:"name"` // "kubernetes"
	Version string `json:"version"`
	Display string `json:"display,omitempty"`
}

// A ReleaseGate has to be acknowledged with Command.
type ReleaseGate struct {
	Name    string `json:"name"`
	Minor   string `json:"minor"` // of the clusters that it stops, "4.20"
	Message string `json:"message"`
	Command string `json:"command"`
}

// A ReleaseImage is an image of a release under one of its names.
type ReleaseImage struct {
	Name  string `json:"name"`
	Image string `json:"image"` // by digest
}

// ReadRelease returns what a release image says: versions, images, capabilities, and the gates that stop
// updates. Signatures are not verified.
func ReadRelease(ctx context.Context, o ReleaseOptions) (*ReleaseInfo, error) {
	e, done := o.Env.OrDefault()
	defer done()
	s, err := openRelease(ctx, e, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	p, c, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	info := &ReleaseInfo{
		Version: 1, Release: p.Version, Arch: p.Arch, Source: s.Source, Digest: p.Digest, URL: p.URL,
		Previous: p.Previous, Next: p.Next, Metadata: p.Metadata,
		Capabilities: payload.KnownCapabilities(c.Manifests), Profiles: payload.KnownProfiles(c.Manifests), FeatureSets: payload.KnownFeatureSets(c.Manifests),
		Manifests: len(c.Manifests), Images: releaseImages(p),
	}
	for _, v := range p.Versions {
		info.Software = append(info.Software, Software(v))
	}
	gates, err := p.Gates(ctx, s.Images)
	if err != nil {
		return nil, err
	}
	for _, g := range gates {
		info.Gates = append(info.Gates, ReleaseGate{Name: g.Name, Minor: g.Minor, Message: g.Message, Command: acknowledge(g.Name)})
	}
	return info, nil
}

// acknowledge returns the command that acknowledges a gate. Names of gates may come from anywhere, so
// unusual ones are quoted for JSON and a shell.
func acknowledge(gate string) string {
	name, _ := json.Marshal(gate) // text can always be written
	return "oc -n openshift-config patch cm admin-acks --type merge -p '" + strings.ReplaceAll(`{"data":{`+string(name)+`:"true"}}`, "'", `'\''`) + "'"
}

// releaseImages returns the images of a payload by name. Boot images, also those for KubeVirt, are not part of it.
func releaseImages(p *payload.Payload) []ReleaseImage {
	var images []ReleaseImage
	for _, c := range p.Components {
		for _, name := range c.Names {
			images = append(images, ReleaseImage{Name: name, Image: c.Ref})
		}
	}
	elements.Sort(images, func(a, b ReleaseImage) int { return cmp.Compare(a.Name, b.Name) })
	return images
}

// ReleaseImages lists the images of a release: those whose names match one of the patterns, in which *
// matches any text and ? one character; all without patterns. A pattern that matches none is an error.
func ReleaseImages(ctx context.Context, o ReleaseOptions, patterns []string) (*ReleaseImageList, error) {
	e, done := o.Env.OrDefault()
	defer done()
	s, p, err := readRelease(ctx, e, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	list := &ReleaseImageList{Version: 1, Release: p.Version, Arch: p.Arch, Digest: p.Digest, Images: []ReleaseImage{}}
	all := releaseImages(p)
	matched := map[string]bool{}
	for _, image := range all {
		keep := len(patterns) == 0
		for _, pattern := range patterns {
			yes, err := path.Match(pattern, image.Name)
			if err != nil {
				return nil, env.Inputf("pattern %q: %w", pattern, err)
			}
			if yes {
				keep, matched[pattern] = true, true
			}
		}
		if keep {
			list.Images = append(list.Images, image)
		}
	}
	for _, pattern := range patterns {
		if !matched[pattern] {
			names := elements.Map(all, func(image ReleaseImage) string { return image.Name })
			return nil, env.InputHint(cmp.Or(suggest.Phrase(pattern, names), "leave it out to list all"), "release %s has no image %q", p.Version, pattern)
		}
	}
	return list, nil
}

// A ReleaseImageList is the result of ReleaseImages. Its JSON is what gantry release images --output json
// prints.
type ReleaseImageList struct {
	Version int            `json:"version"`
	Release string         `json:"release"`
	Arch    release.Arch   `json:"arch"`
	Digest  digest.Digest  `json:"digest"`
	Images  []ReleaseImage `json:"images"`
}
