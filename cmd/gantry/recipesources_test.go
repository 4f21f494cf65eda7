package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/platform/releasetest"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/plan/updates"
)

// The catalogs and images that recipes mirror. What stands in for them has their names and no more.
var (
	recipeCatalogs = map[string][]string{
		"registry.redhat.io/redhat/redhat-operator-index:v4.20": {"cluster-logging", "loki-operator"},
		"quay.io/operatorhubio/catalog:latest":                  {"cert-manager"},
	}
	recipeImages = []string{
		"registry.redhat.io/ubi9/ubi:latest", "registry.k8s.io/pause:3.10", "registry.k8s.io/coredns/coredns:v1.12.0", recipeSigned + ":v1.9.0",
	}
)

const (
	// recipeSigned is the repository of an image with a signature by cosign.pub.
	recipeSigned = "quay.io/prometheus/node-exporter"
	recipeHosts  = "registry.redhat.io quay.io registry.k8s.io"
)

// recipeSources are the registries of the connected side and the services for releases.
type recipeSources struct {
	source, service *registrytest.Server
	releaseKey      string // file
	publicKey       string // cosign.pub
}

func newRecipeSources(t *testing.T) *recipeSources {
	t.Helper()
	releases := releasetest.Small()
	releases.Store = "http://" + scriptUpdates + releasetest.SignaturesPath
	platform, service := releasetest.Serve(t, releases, registrytest.Options{})
	s := &recipeSources{source: registrytest.New(t, registrytest.Options{}), service: service, releaseKey: filepath.Join(t.TempDir(), "release.asc")}
	w := &fixture{t: t, dir: filepath.Dir(s.releaseKey)}
	w.write("release.asc", string(platform.Keys.OpenPGP))
	c := s.source.Client()
	fail.On(t, platform.Push(t.Context(), c, s.source.Host))
	push := func(ref string, content registrytest.Content) string {
		at := strings.LastIndexByte(ref, ':')
		d, err := c.Push(t.Context(), ref[:at], ref[at+1:], content)
		fail.On(t, err)
		return d.String()
	}
	for ref, packages := range recipeCatalogs {
		catalog := fstest.MapFS{}
		for _, name := range packages {
			bundle, err := registrytest.BundleImage(name, "1.0.0")
			fail.On(t, err)
			repository := ref[:strings.IndexByte(ref, '/')] + "/" + name + "/bundle"
			d := push(repository+":v1.0.0", bundle)
			catalog[name+"/catalog.yaml"] = &fstest.MapFile{Mode: 0o644, Data: fmt.Appendf(nil, recipePackage, name, repository+"@"+d)}
		}
		img, err := registrytest.CatalogImage(catalog)
		fail.On(t, err)
		push(ref, img)
	}
	for _, ref := range recipeImages {
		img, err := registrytest.Image(ref)
		fail.On(t, err)
		if d := push(ref, img); strings.HasPrefix(ref, recipeSigned) {
			s.sign(t, d)
		}
	}
	return s
}

const recipePackage = `---
schema: olm.package
name: %[1]s
defaultChannel: stable
---
schema: olm.channel
package: %[1]s
name: stable
entries: [{name: %[1]s.v1.0.0}]
---
schema: olm.bundle
package: %[1]s
name: %[1]s.v1.0.0
image: %[2]s
relatedImages: [{name: bundle, image: %[2]s}]
properties:
- type: olm.package
  value: {packageName: %[1]s, version: 1.0.0}
- type: olm.csv.metadata
  value: {displayName: %[1]s, installModes: [{type: AllNamespaces, supported: true}]}
`

// sign signs an image as "cosign sign" does.
func (s *recipeSources) sign(t *testing.T, d string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	fail.On(t, err)
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	fail.On(t, err)
	s.publicKey = string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	payload := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, recipeSigned, d)
	sum := sha256.Sum256(payload)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	fail.On(t, err)
	img, err := mutate.Append(empty.Image, mutate.Addendum{
		Layer:       static.NewLayer(payload, "application/vnd.dev.cosign.simplesigning.v1+json"),
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature)},
	})
	fail.On(t, err)
	_, err = s.source.Client().Push(t.Context(), recipeSigned, strings.Replace(d, ":", "-", 1)+".sig", img)
	fail.On(t, err)
}

// begin begins a page with new mirrors. From an enclave and the disconnected side, only mirrors can be reached.
func (s *recipeSources) begin(t *testing.T) *recipe {
	t.Helper()
	r := &recipe{t: t, dir: registrytest.TempDir(t)}
	mirror := func() string { return registrytest.New(t, registrytest.Options{}).Host }
	web := httptest.NewServer(http.FileServer(http.Dir(r.at("gantry-workspace/cluster-resources"))))
	t.Cleanup(web.Close)
	inside := map[string]string{scriptMirror: mirror(), "mirror-a.example.com:5000": mirror(), "mirror-b.example.com:5000": mirror(), "web-a.example.com": web.Listener.Addr().String()}
	outside := map[string]string{scriptSource: s.source.Host, "harbor.example.com": s.source.Host, scriptUpdates: s.service.Host}
	maps.Copy(outside, inside)
	r.rename = strings.NewReplacer("localhost:5000", mirror(), "https://web-a", "http://web-a")
	r.surroundings = func(side string) (map[string]string, string) {
		env := map[string]string{"HOME": r.at(""), updates.SignatureKeyVariable: s.releaseKey}
		hosts, prefixes := inside, []string{}
		if side == "" || strings.HasPrefix(side, "connected") {
			hosts, prefixes = outside, strings.Fields(recipeHosts)
			env[updates.UpdateURLVariable] = "http://" + scriptUpdates + releasetest.GraphPath
			env[updates.SignatureURLVariable] = "http://" + scriptUpdates + releasetest.SignaturesPath
		}
		proxy := httptest.NewServer(proxyTo(hosts))
		t.Cleanup(proxy.Close)
		env["HTTP_PROXY"], env["HTTPS_PROXY"] = proxy.URL, proxy.URL
		return env, registrytest.RegistriesConf(scriptSource, prefixes, sortedKeys(hosts)...)
	}
	r.enter("")
	r.write("cosign.pub", s.publicKey)
	r.write("csv.json", `{"kind": "List", "items": [{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": {"name": "cluster-logging.v1.0.0", "namespace": "openshift-logging"}, "spec": {"version": "1.0.0"}, "status": {"phase": "Succeeded"}}]}`)
	return r
}
