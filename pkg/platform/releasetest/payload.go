package releasetest

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// A Payload is a release that was made.
type Payload struct {
	Release        // completed: Arch and Components are set
	Name    string // and tag, "4.20.1-x86_64"
	// Repository is the repository of the release image and Content the repository of its
	// components, with the host of references.
	Repository, Content string
	Digest              digest.Digest
	// Shards are the release images of a manifest list by architecture; nil for a single image.
	Shards map[release.Arch]digest.Digest
	// Images are the components by name, and BootImages the KubeVirt disks by architecture.
	Images     map[string]digest.Digest
	BootImages map[release.Arch]digest.Digest

	releases, content string // the repositories, without host
	// made are the components by name, disks by "kubevirt <arch>" and the release image by "".
	made map[string]registrytest.Content
}

// Reference returns the reference of the payload by digest, as in graphs.
func (p *Payload) Reference() string { return p.Repository + "@" + p.Digest.String() }

// The component that is the base of release images, and the name of boot disks.
const (
	versionOperator = "cluster-version-operator"
	kubevirt        = "kubevirt"
	samplesOperator = "cluster-samples-operator"
)

// build makes the images of a release.
func (w *Platform) build(r Release) (*Payload, error) {
	r.Arch = cmp.Or(r.Arch, release.DefaultArch)
	if r.Components == nil {
		r.Components = Components()
	}
	p := &Payload{
		Release: r, Name: release.Name(r.Version, r.Arch),
		Images: map[string]digest.Digest{}, BootImages: map[release.Arch]digest.Digest{}, made: map[string]registrytest.Content{},
	}
	p.releases, p.content = w.definition.repositories(r.Version)
	p.Repository, p.Content = w.definition.host()+"/"+p.releases, w.definition.host()+"/"+p.content
	for _, name := range r.Components {
		content, err := w.component(p, name)
		if err != nil {
			return nil, fmt.Errorf("component %s: %w", name, err)
		}
		p.made[name] = content
		if p.Images[name], err = w.put(p.content, "", content); err != nil {
			return nil, fmt.Errorf("component %s: %w", name, err)
		}
	}
	for _, arch := range r.BootImages {
		img, err := w.image(p, kubevirt, arch)
		if err != nil {
			return nil, err
		}
		p.made[kubevirt+" "+string(arch)] = img
		if p.BootImages[arch], err = w.put(p.content, "", img); err != nil {
			return nil, err
		}
	}
	for _, name := range r.Flaws.Missing {
		w.missing[p.Images[name]] = true
	}
	return p, w.assemble(p)
}

// assemble makes the release image, which contains the digests of all other images.
func (w *Platform) assemble(p *Payload) error {
	manifests, err := w.manifests(p)
	if err != nil {
		return err
	}
	var images []v1.Image
	for _, arch := range p.arches() {
		base, err := w.image(p, versionOperator, arch)
		if err != nil {
			return err
		}
		h, err := base.Digest()
		if err != nil {
			return err
		}
		labels := map[string]string{"io.openshift.release": p.Version, "io.openshift.release.base-image-digest": h.String()}
		img, err := registrytest.FilesImage(platform(arch), v1.Config{Labels: labels, Entrypoint: []string{"/usr/bin/" + versionOperator}},
			w.files(p, versionOperator, arch), manifests)
		if err != nil {
			return err
		}
		images = append(images, img)
	}
	var content registrytest.Content = images[0]
	if p.Arch == release.Multi {
		p.Shards = map[release.Arch]digest.Digest{}
		for i, arch := range p.arches() {
			h, err := images[i].Digest()
			if err != nil {
				return err
			}
			p.Shards[arch] = digest.Digest(h.String())
		}
		if content, err = registrytest.ImageIndex(false, images...); err != nil {
			return err
		}
	}
	p.made[""] = content
	p.Digest, err = w.put(p.releases, p.Name, content)
	return err
}

// arches returns the architectures of the images in the payload.
func (p *Payload) arches() []release.Arch {
	if p.Arch != release.Multi {
		return []release.Arch{p.Arch}
	}
	return slices.DeleteFunc(release.Arches(), func(a release.Arch) bool { return a == release.Multi })
}

func platform(arch release.Arch) v1.Platform {
	return v1.Platform{OS: "linux", Architecture: string(arch)}
}

// component makes the image of a component, or a manifest list of its images.
func (w *Platform) component(p *Payload, name string) (registrytest.Content, error) {
	if other := aliases[name]; slices.Contains(p.Components, other) {
		name = other
	}
	var images []v1.Image
	for _, arch := range p.arches() {
		img, err := w.image(p, name, arch)
		if err != nil {
			return nil, err
		}
		images = append(images, img)
	}
	if p.Arch == release.Multi {
		return registrytest.ImageIndex(false, images...)
	}
	return images[0], nil
}

// image makes the image of a component for one architecture.
func (w *Platform) image(p *Payload, name string, arch release.Arch) (v1.Image, error) {
	key := fmt.Sprintf("%s %v", seed(p, name, arch), p.Gates)
	if name == samplesOperator {
		key += fmt.Sprint(p.Samples)
	}
	programs := p.Tools && slices.Contains(ToolComponents(), name)
	if programs {
		key += " tools"
	}
	if img := w.images[key]; img != nil {
		return img, nil
	}
	layers := [][]registrytest.File{w.files(p, name, arch)}
	if programs {
		layers = append(layers, tools(name, arch))
	}
	img, err := registrytest.FilesImage(platform(arch), v1.Config{Labels: map[string]string{"name": name}}, layers...)
	w.images[key] = img
	return img, err
}

// files returns the files of a component.
func (w *Platform) files(p *Payload, name string, arch release.Arch) []registrytest.File {
	data := make([]byte, cmp.Or(w.definition.ComponentSize, 1<<10))
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(seed(p, name, arch)))).Read(data) // never fails
	if name == kubevirt {
		return []registrytest.File{{Name: "disk/"}, {Name: "disk/rhcos.qcow2", Data: data}}
	}
	files := []registrytest.File{{Name: "usr/"}, {Name: "usr/bin/"}, {Name: "usr/bin/" + name, Data: data, Mode: 0o755}}
	switch name {
	case versionOperator:
		files = append(files, operatorManifests(p)...)
	case samplesOperator:
		files = append(files, samples(p)...)
	}
	return files
}

// seed determines the bytes of a component. About one in three components is the same in all
// releases of a minor version, as in real releases.
func seed(p *Payload, name string, arch release.Arch) string {
	version := p.Version
	if sum := sha256.Sum256([]byte(name)); sum[0]%3 == 0 {
		version = version[:strings.LastIndexByte(version, '.')]
	}
	return fmt.Sprintf("%s %s %s", name, version, arch)
}
