package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// platformSet is the configuration of the part about platform releases.
const platformSet = `kind: ImageSetConfiguration
apiVersion: mirror.openshift.io/v2alpha1
mirror:
  platform:
    graph: true
    updateService: %[1]s` + releasetest.GraphPath + `
    signatureStores: [%[1]s` + releasetest.SignaturesPath + `]
    signatureKeys: [%[2]s]
    channels:
    - name: fast-4.20
      from: [4.18.1]       # what clusters run: the upgrade path from it to the head
`

// The path from 4.18.1 to the head of the channel without risks.
var platformPath = []string{"4.18.1-x86_64", "4.19.2-x86_64", "4.20.2-x86_64"}

// platformReleases mirrors the releases on an update path, from an update service
// and a signature store on loopback.
func (d *demo) platformReleases(ctx context.Context) error {
	d.title("Platform releases: the update path from 4.18.1 to the head of fast-4.20, with signatures and graph data")
	releases, err := releasetest.New(releasetest.Small())
	if err != nil {
		return err
	}
	if err := releases.Push(ctx, registrytest.NewClient(d.source.host), d.source.host); err != nil {
		return err
	}
	services, stop, err := serve(ctx, releases)
	if err != nil {
		return err
	}
	defer stop()
	conf := filepath.Join(d.dir, registries)
	text, err := os.ReadFile(conf)
	if err != nil {
		return err
	}
	// Only the vendor's registry is replaced; the others exist.
	_, vendor, _ := strings.Cut(releases.RegistriesConf(d.source.host, d.source.host), "\n\n")
	if err := errors.Join(
		os.WriteFile(conf, append(append(text, '\n'), vendor...), 0o600),
		os.WriteFile(filepath.Join(d.dir, releaseKeyFile), releases.Keys.OpenPGP, 0o600),
		os.WriteFile(filepath.Join(d.dir, platformFile), fmt.Appendf(nil, platformSet, "http://"+services, releaseKeyFile), 0o600),
	); err != nil {
		return err
	}
	d.show(platformFile)
	d.gantry(ctx, "plan", "-c", platformFile, "--workspace", nearSpace)
	d.gantry(ctx, "mirror", "-c", platformFile, "--workspace", nearSpace, "docker://"+d.near.host+"/ocp")
	if err := d.checkReleases(ctx, releases); err != nil {
		return err
	}
	stop() // what clusters need, they find in the mirror
	d.source.unplugged.Store(true)
	defer d.source.unplugged.Store(false)
	d.gantry(ctx, "check", "--platform", "--release-key", releaseKeyFile, "--workspace", nearSpace, "docker://"+d.near.host+"/ocp")
	return nil
}

// checkReleases pulls the releases and all their components.
func (d *demo) checkReleases(ctx context.Context, releases *releasetest.Platform) error {
	c := registrytest.NewClient(d.near.host)
	for _, name := range platformPath {
		p := releases.Payload(name)
		got, err := c.Pull(ctx, "ocp/openshift/release-images", name)
		if err != nil {
			return err
		}
		if got.Digest != p.Digest {
			return fmt.Errorf("release %s is %s at the mirror and %s at its vendor", name, got.Digest, p.Digest)
		}
		for part, digest := range p.Images {
			if got, err = c.Pull(ctx, "ocp/openshift/release", name+"-"+part); err != nil {
				return err
			}
			if got.Digest != digest {
				return fmt.Errorf("%s of release %s is %s at the mirror and %s at its vendor", part, name, got.Digest, digest)
			}
		}
		d.say("%s/ocp/openshift/release-images:%s  with %d components pulled", d.near.host, name, len(p.Images))
	}
	return nil
}
