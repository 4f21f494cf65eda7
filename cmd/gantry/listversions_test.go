package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestListCatalogVersions checks the flags of gantry list operators. Package listing tests what is listed.
func TestListCatalogVersions(t *testing.T) {
	t.Parallel()
	s := registrytest.Start(t, registrytest.Options{})
	image, err := registrytest.BundleImage("otter", "1.0.0")
	fail.On(t, err)
	for _, tag := range []string{"v4.9", "v4.20", "v4.19", "v4.20.1", "latest", "v4.19-123"} {
		if _, err := s.Client().Push(t.Context(), "redhat/redhat-operator-index", tag, image); err != nil {
			t.Fatal(err)
		}
	}
	conf := filepath.Join(t.TempDir(), "registries.conf")
	text := fmt.Sprintf("[[registry]]\nprefix = \"registry.redhat.io\"\nlocation = %q\ninsecure = true\n", s.Host)
	fail.On(t, os.WriteFile(conf, []byte(text), 0o600))
	k := ask(t, "")
	k.env["CONTAINERS_REGISTRIES_CONF"] = conf
	k.want(exitOK, "4.20\n4.19\n4.9\n", "", "list", "operators")
	k.want(exitOK, `{"version":1,"versions":["4.20","4.19","4.9"]}`+"\n", "", "list", "operators", "-o", "json")
	index := "registry.redhat.io/redhat/redhat-operator-index"
	k.want(exitOK, index+":v4.9\n", "", "list", "operators", "--catalogs", "--version", "4.9")
	tagged := k.gantry("list", "operators", "--catalog", index+":v4.20")
	k.want(tagged.code, tagged.stdout, tagged.stderr, "list", "operators", "--catalog", index, "--version", "4.20")
	for args, words := range map[string]string{
		"--catalog " + index + " --version 4":   `--version "4"`,
		"--catalog " + index + " --catalogs":    "--catalogs and --catalog exclude each other",
		"--package a":                           "require --catalog",
		"--catalogs --version 4.20 --package a": "require --catalog",
	} {
		k.refuse(exitUsage, []string{words}, append([]string{"list", "operators"}, strings.Fields(args)...)...)
	}
}
