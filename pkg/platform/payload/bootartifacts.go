package payload

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/advice/suggest"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A BootArtifact is a file on a web server that machines boot from: an ISO image, a disk image, a
// kernel. The release names it with its digest, in the metadata of the CoreOS stream
// (https://github.com/coreos/stream-metadata-go).
type BootArtifact struct {
	Arch release.Arch
	// Platform, Format and Part say what it is: "metal", "iso" and "disk". A format with several parts
	// (kernel, initramfs, rootfs) needs all of them.
	Platform, Format, Part string
	// Location is an http or https address without user and query, and File the last part of its path.
	Location, File string
	Digest         digest.Digest
	// Build is the version of CoreOS, "9.6.20250826-1"; "" if the release does not name it.
	Build string
}

// IsLiveISO reports whether the artifact is the ISO image that starts installers.
func (a *BootArtifact) IsLiveISO() bool {
	return a.Platform == "metal" && a.Format == "iso" && a.Part == "disk"
}

// Kind returns what configurations call the artifact, "metal/iso".
func (a *BootArtifact) Kind() string { return a.Platform + "/" + a.Format }

// artifactStream is the part of the metadata of a stream that lists artifacts.
type artifactStream struct {
	Architectures map[string]struct {
		Artifacts map[string]struct {
			Release string                             `json:"release"`
			Formats map[string]map[string]artifactFile `json:"formats"`
		} `json:"artifacts"`
	} `json:"architectures"`
}

type artifactFile struct {
	Location string `json:"location"`
	SHA256   string `json:"sha256"`
}

// maxArtifacts is the maximum number of artifacts in a stream.
const maxArtifacts = 10_000

// BootArtifacts returns the artifacts of the release for all architectures, sorted by architecture,
// kind and part; none if the release lists none.
func (p *Payload) BootArtifacts() ([]BootArtifact, error) {
	if p.BootImages == nil {
		return nil, nil
	}
	var all []BootArtifact
	err := eachStream(p.BootImages, func(text []byte) error {
		found, err := parseArtifacts(text)
		all = append(all, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the boot images of release %s in /%s: %w", p.Version, bootFile, err)
	}
	return all, nil
}

// parseArtifacts parses the metadata of a stream.
func parseArtifacts(text []byte) ([]BootArtifact, error) {
	var s artifactStream
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	var all []BootArtifact
	seen := map[release.Arch]string{}
	for _, name := range slices.Sorted(maps.Keys(s.Architectures)) {
		arch, err := release.ParseArch(name)
		if err != nil {
			continue // an architecture that no payload is built for
		}
		if other, ok := seen[arch]; ok {
			return nil, fmt.Errorf("architecture %s occurs twice, as %q and %q", arch, other, name)
		}
		seen[arch] = name
		artifacts := s.Architectures[name].Artifacts
		for platform, p := range artifacts {
			if p.Release != "" && !isArtifactWord(p.Release) {
				return nil, fmt.Errorf("architecture %s: %.200q: the release %.200q is not a version", name, platform, p.Release)
			}
			for format, parts := range p.Formats {
				for part, file := range parts {
					a := BootArtifact{Arch: arch, Platform: platform, Format: format, Part: part, Build: p.Release}
					if err := a.set(file); err != nil {
						return nil, fmt.Errorf("architecture %.200q: %.200q: format %.200q: %.200q: %w", name, platform, format, part, err)
					}
					all = append(all, a)
					if len(all) > maxArtifacts {
						return nil, fmt.Errorf("it lists more than %d files", maxArtifacts)
					}
				}
			}
		}
	}
	elements.Sort(all, func(a, b BootArtifact) int {
		return cmp.Or(cmp.Compare(a.Arch, b.Arch), cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.Format, b.Format), cmp.Compare(a.Part, b.Part))
	})
	return all, nil
}

// set checks and sets location and digest.
func (a *BootArtifact) set(file artifactFile) error {
	for _, word := range []string{a.Platform, a.Format, a.Part} {
		if !isArtifactWord(word) {
			return fmt.Errorf("%.200q is not a name", word)
		}
	}
	u, err := url.Parse(file.Location)
	switch {
	case err != nil:
		return fmt.Errorf("the location %.200q is not an address", file.Location)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("the location %.200q is not an http or https address, or has a user or a query", u.Redacted())
	}
	a.Location, a.File = file.Location, path.Base(u.Path)
	if !isArtifactWord(a.File) {
		return fmt.Errorf("the location %.200q has no file name", file.Location)
	}
	a.Digest = digest.NewDigestFromEncoded(digest.SHA256, file.SHA256)
	if a.Digest.Validate() != nil {
		return errors.New("the sha256 is not 64 hexadecimal digits")
	}
	return nil
}

const artifactLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-"

// isArtifactWord reports whether a text can be part of the name of a kind or of a file.
func isArtifactWord(s string) bool {
	return s != "" && len(s) <= 200 && strings.Trim(s, ".") != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune(artifactLetters, r)
	})
}

// SelectArtifacts returns the artifacts of the kinds ("metal/iso") for the architectures, all of them
// of the release p. A kind that an architecture does not have is an error.
func (p *Payload) SelectArtifacts(kinds []string, arches []release.Arch) ([]BootArtifact, error) {
	all, err := p.BootArtifacts()
	if err != nil {
		return nil, err
	}
	var selected []BootArtifact
	for _, arch := range arches {
		var have []string
		found := map[string]bool{}
		for _, a := range all {
			if a.Arch != arch {
				continue
			}
			have = append(have, a.Kind())
			if slices.Contains(kinds, a.Kind()) {
				selected, found[a.Kind()] = append(selected, a), true
			}
		}
		have = slices.Compact(have)
		for _, kind := range kinds {
			if found[kind] {
				continue
			}
			hint := "this release lists none for " + string(arch)
			if len(have) > 0 {
				hint = cmp.Or(suggest.Phrase(kind, have), "it has "+strings.Join(have, ", "))
			}
			return nil, advice.New(advice.Input, hint, "release %s has no boot image %q for %s", release.Name(p.Version, p.Arch), kind, arch)
		}
	}
	return selected, nil
}
