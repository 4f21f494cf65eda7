// Package hostscheck pulls with the files of hosts/, which configure machines for a mirror, as the runtimes do: with the
// code of containerd, of K3s and RKE2 (rancher/wharfie), and of podman and CRI-O (go.podman.io/image).
//
// It is a module of its own because that code needs sixty modules that Gantry should not depend on.
package hostscheck

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/core/remotes/docker"
	"github.com/containerd/containerd/v2/core/remotes/docker/config"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/opencontainers/go-digest"
	"github.com/rancher/wharfie/pkg/registries"
	podman "go.podman.io/image/v5/docker"
	"go.podman.io/image/v5/types"

	"github.com/gantry-mirror/gantry/pkg/reference"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/resources"
	"github.com/gantry-mirror/gantry/pkg/resources/hosts"
)

// A pull is a reference that a machine requests, and the digest that the mirror has for it.
type pull struct {
	reference string
	want      digest.Digest
}

// images are what is mirrored: the source, and the repository in the mirror.
var images = []struct {
	source, mirror string
	byDigest       bool
}{
	{"quay.example/org/app:v1", "ocp/org/app", false},
	{"quay.example/org/app-operator:v2", "ocp/org/app-operator", true},
	{"registry.example:5000/team/sub/tool:1.4", "ocp/team/sub/tool", false},
	{"registry.example:5000/team/bundle:v3", "ocp/team/bundle", true},
	{"docker.io/library/base:8", "ocp/library/base", false},
	{"images.example.net/pause:3.10", "ocp/pause", false},
	{"images.example.net/kube/proxy:v1.35.0", "ocp/kube/proxy", true},
}

// fill pushes the images into the mirror and returns the input of the files, and what is pulled.
func fill(t *testing.T, mirror *registrytest.Server) (in hosts.Input, pulls []pull) {
	t.Helper()
	in.Host = mirror.Host
	for _, i := range images {
		source, err := reference.Parse(i.source)
		if err != nil {
			t.Fatal(err)
		}
		content, err := registrytest.Image(i.source)
		if err != nil {
			t.Fatal(err)
		}
		pushed, err := mirror.Client().Push(t.Context(), i.mirror, source.Tag, content)
		if err != nil {
			t.Fatal(err)
		}
		at := reference.Reference{Host: mirror.Host, Path: i.mirror, Tag: source.Tag, Digest: pushed}
		requested := i.source
		if i.byDigest {
			source.Tag, source.Digest = "", pushed
			requested = source.Name() + "@" + pushed.String()
		}
		in.Images = append(in.Images, resources.Image{Source: source, Mirror: at, Kind: "generic"})
		pulls = append(pulls, pull{requested, pushed})
	}
	var err error
	if in.Mirrors, err = resources.Mirrors(in.Images, resources.Options{}); err != nil {
		t.Fatal(err)
	}
	return in, pulls
}

// write writes the files of hosts/ as they are copied to a machine, whose folder for files of RANCHER is in the folder
// that is returned.
func write(t *testing.T, in hosts.Input) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files, notes, err := hosts.Build(in)
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	for _, f := range files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		text := bytes.ReplaceAll(f.Text, []byte("/etc/rancher/"), []byte(dir+"/"))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A runtime resolves a reference as a machine with the files of a folder.
type runtime func(ctx context.Context, dir, ref string) (digest.Digest, error)

func runtimes(mirror *registrytest.Server) map[string]runtime {
	return map[string]runtime{
		"containerd":               containerd,
		"K3s":                      rancher("k3s"),
		"RKE2":                     rancher("rke2"),
		"podman, skopeo and CRI-O": containers(mirror.CertDir),
	}
}

func containerd(ctx context.Context, dir, ref string) (digest.Digest, error) {
	resolver := docker.NewResolver(docker.ResolverOptions{
		Hosts: config.ConfigureHosts(ctx, config.HostOptions{HostDir: config.HostDirFromRoot(filepath.Join(dir, "containerd", "certs.d"))}),
	})
	name, desc, err := resolver.Resolve(ctx, ref)
	if err != nil {
		return "", err
	}
	fetcher, err := resolver.Fetcher(ctx, name)
	if err != nil {
		return "", err
	}
	body, err := fetcher.Fetch(ctx, desc)
	if err != nil {
		return "", err
	}
	defer body.Close()
	return digest.FromReader(body)
}

func rancher(product string) runtime {
	return func(_ context.Context, dir, ref string) (digest.Digest, error) {
		from, err := registries.GetPrivateRegistries(filepath.Join(dir, product, "registries.yaml"))
		if err != nil {
			return "", err
		}
		parsed, err := name.ParseReference(ref)
		if err != nil {
			return "", err
		}
		image, err := from.Image(parsed)
		if err != nil {
			return "", err
		}
		hash, err := image.Digest()
		return digest.Digest(hash.String()), err
	}
}

func containers(certDir string) runtime {
	return func(ctx context.Context, dir, ref string) (digest.Digest, error) {
		parsed, err := podman.ParseReference("//" + ref)
		if err != nil {
			return "", err
		}
		none := filepath.Join(dir, "none")
		if err := os.WriteFile(none, nil, 0o600); err != nil {
			return "", err
		}
		source, err := parsed.NewImageSource(ctx, &types.SystemContext{
			SystemRegistriesConfPath: none, SystemRegistriesConfDirPath: filepath.Join(dir, "containers", "registries.conf.d"),
			DockerPerHostCertDirPath: certDir, AuthFilePath: filepath.Join(dir, "auth.json"),
		})
		if err != nil {
			return "", err
		}
		defer source.Close()
		manifest, _, err := source.GetManifest(ctx, nil)
		return digest.FromBytes(manifest), err
	}
}

// found returns how many of the pulls each runtime gets from the mirror.
func found(t *testing.T, mirror *registrytest.Server, dir string, pulls []pull) map[string]int {
	t.Helper()
	all := map[string]int{}
	for name, resolve := range runtimes(mirror) {
		all[name] = 0
		for _, p := range pulls {
			got, err := resolve(t.Context(), dir, p.reference)
			switch {
			case err != nil:
				t.Logf("%s: %s: %s", name, p.reference, strings.TrimSpace(err.Error()))
			case got != p.want:
				t.Errorf("%s: %s is %s, want %s", name, p.reference, got, p.want)
			default:
				all[name]++
			}
		}
	}
	return all
}

// TestPull checks that every runtime finds every image at a mirror without TLS, and at one with a certificate of its own CA.
func TestPull(t *testing.T) {
	for name, tls := range map[string]bool{"plain HTTP": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			mirror := registrytest.Start(t, registrytest.Options{TLS: tls})
			in, pulls := fill(t, mirror)
			in.PlainHTTP = !tls
			if tls {
				var err error
				if in.CA, err = os.ReadFile(mirror.CAFile); err != nil {
					t.Fatal(err)
				}
			}
			for runtime, n := range found(t, mirror, write(t, in), pulls) {
				if n != len(pulls) {
					t.Errorf("%s finds %d of %d images", runtime, n, len(pulls))
				}
			}
		})
	}
}

// TestWrongScheme checks that these runtimes do not try plain HTTP where the files say https, so that the files must be right.
func TestWrongScheme(t *testing.T) {
	mirror := registrytest.Start(t, registrytest.Options{})
	in, pulls := fill(t, mirror)
	for runtime, n := range found(t, mirror, write(t, in), pulls) {
		if n != 0 {
			t.Errorf("%s finds %d images by plain HTTP with files for https", runtime, n)
		}
	}
}
