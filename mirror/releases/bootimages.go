package releases

import (
	"context"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/release"
)

// A BootImageList is the result of BootImages. Its JSON is what gantry release boot-images --output json
// prints.
type BootImageList struct {
	Version    int           `json:"version"`
	Release    string        `json:"release"`
	Arch       release.Arch  `json:"arch"`
	Digest     digest.Digest `json:"digest"`
	BootImages []BootImage   `json:"bootImages"`
}

// A BootImage is a file that machines of a release boot from.
type BootImage struct {
	Kind string       `json:"kind"` // "metal/iso"
	Arch release.Arch `json:"arch"`
	Part string       `json:"part"` // "disk", "kernel", "initramfs" or "rootfs"
	// Address is where the vendor publishes the file, and SHA256 its digest.
	Address string        `json:"address"`
	SHA256  digest.Digest `json:"sha256"`
}

// BootImages lists the boot images of a release for its architecture, or for all architectures of a
// multi-architecture release: those of the given kinds, all without kinds. A kind that the release does not
// have is an error.
func BootImages(ctx context.Context, o ReleaseOptions, kinds []string) (*BootImageList, error) {
	e, done := o.Env.OrDefault()
	defer done()
	s, p, err := readRelease(ctx, e, o)
	if err != nil {
		return nil, err
	}
	defer s.close()
	all, err := p.BootArtifacts()
	if err != nil {
		return nil, err
	}
	arches := []release.Arch{p.Arch}
	if p.Arch == release.Multi {
		arches = nil
		for _, a := range all {
			arches = append(arches, a.Arch)
		}
		arches = slices.Compact(arches)
	}
	if len(kinds) > 0 {
		if all, err = p.SelectArtifacts(kinds, arches); err != nil {
			return nil, err
		}
	}
	list := &BootImageList{Version: 1, Release: p.Version, Arch: p.Arch, Digest: p.Digest, BootImages: []BootImage{}}
	for _, a := range all {
		if slices.Contains(arches, a.Arch) {
			list.BootImages = append(list.BootImages, BootImage{Kind: a.Kind(), Arch: a.Arch, Part: a.Part, Address: a.Location, SHA256: a.Digest})
		}
	}
	return list, nil
}
