package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release/releasetest"
)

// TestListReleaseVersions checks that each minor version is listed with its most conservative channel,
// although an update service does not list its channels.
func TestListReleaseVersions(t *testing.T) {
	t.Parallel()
	k, _ := smallService(t)
	k.want(exitOK, `CHANNEL      ARCH   HEAD    RELEASES
stable-4.20  amd64  4.20.1  5
stable-4.18  amd64  4.18.2  2
`, "", "list", "releases")
	k.want(exitOK, `CHANNEL      ARCH   HEAD    RELEASES
stable-4.20  amd64  4.20.1  5
stable-4.20  multi  4.20.1  1
stable-4.18  amd64  4.18.2  2
`, "", "list", "releases", "--arch", "amd64,multi")
	// A version without a stable channel has another one.
	u := releasetest.Small()
	delete(u.Channels, "stable-4.20")
	k, _ = serviceOf(t, u)
	k.want(exitOK, `CHANNEL      ARCH   HEAD    RELEASES
eus-4.20     amd64  4.20.2  5
stable-4.18  amd64  4.18.2  2
`, "", "list", "releases")
	k.refuse(exitUsage, []string{"no stable channel from 4.0 to 4.40 has releases for s390x"}, "list", "releases", "--arch", "s390x")
	k.refuse(exitUsage, []string{"--channel or --version is required"}, "list", "releases", "--sizes")
}

// TestListCatalogVersions checks the versions that have catalogs, and a version as the tag of a catalog.
func TestListCatalogVersions(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t, registrytest.Options{})
	image, err := registrytest.BundleImage("otter", "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"v4.9", "v4.20", "v4.19", "v4.20.1", "latest", "v4.19-123"} {
		if _, err := s.Client().Push(t.Context(), "redhat/redhat-operator-index", tag, image); err != nil {
			t.Fatal(err)
		}
	}
	conf := filepath.Join(t.TempDir(), "registries.conf")
	text := fmt.Sprintf("[[registry]]\nprefix = \"registry.redhat.io\"\nlocation = %q\ninsecure = true\n", s.Host)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k := ask(t, "")
	k.env["CONTAINERS_REGISTRIES_CONF"] = conf
	k.want(exitOK, "4.20\n4.19\n4.9\n", "", "list", "operators")
	k.want(exitOK, `{"version":1,"versions":["4.20","4.19","4.9"]}`+"\n", "", "list", "operators", "-o", "json")
	k.want(exitOK, "registry.redhat.io/redhat/redhat-operator-index:v4.9\n", "", "list", "operators", "--catalogs", "--version", "4.9")
	index := "registry.redhat.io/redhat/redhat-operator-index"
	tagged := k.gantry("list", "operators", "--catalog", index+":v4.20")
	k.want(tagged.code, tagged.stdout, tagged.stderr, "list", "operators", "--catalog", index, "--version", "4.20")
	k.refuse(exitUsage, []string{"--version is for a catalog without a tag", "leave it out"}, "list", "operators", "--catalog", index+":v4.20", "--version", "4.20")
	k.refuse(exitUsage, []string{`--version "4"`}, "list", "operators", "--catalog", index, "--version", "4")
	k.refuse(exitUsage, []string{"--version is for a catalog in a registry"}, "list", "operators", "--catalog", "oci://x", "--version", "4.20")
	k.refuse(exitUsage, []string{"--catalogs and --catalog exclude each other"}, "list", "operators", "--catalog", index, "--catalogs")
	k.refuse(exitUsage, []string{"require --catalog"}, "list", "operators", "--package", "a")
}
