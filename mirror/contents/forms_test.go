package contents_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gantry-mirror/gantry/mirror/contents"
	"github.com/gantry-mirror/gantry/mirror/mirrortest"
	"github.com/gantry-mirror/gantry/pkg/advice"
	"github.com/gantry-mirror/gantry/pkg/archive"
	"github.com/gantry-mirror/gantry/pkg/elements"
	"github.com/gantry-mirror/gantry/pkg/fail"
	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// TestOpenShiftCatalogs lists the packages of all catalogs of a version of OpenShift.
func TestOpenShiftCatalogs(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	s.Write("registries.conf", registrytest.RegistriesConf(s.Source.Host, []string{"registry.redhat.io"}, s.Source.Host))
	for _, name := range []string{"redhat", "community"} {
		text := `{"schema":"olm.package","name":"` + name + `","defaultChannel":"stable"}{"schema":"olm.channel","package":"` + name + `","name":"stable","entries":[{"name":"` + name + `.v1"}]}` +
			`{"schema":"olm.bundle","package":"` + name + `","name":"` + name + `.v1","image":"quay.io/org/` + name + `:v1","properties":[{"type":"olm.package","value":{"packageName":"` + name + `","version":"1.0.0"}}]}`
		s.PushCatalog("registry.redhat.io/redhat/"+name+"-operator-index:v4.20", fstest.MapFS{"catalog.json": {Data: []byte(text), Mode: 0o644}})
	}
	list := func(version string) (*contents.List, error) {
		return contents.Packages(t.Context(), contents.Options{Env: s.NewEnv(), Workspace: s.Workspace(), OpenShift: version})
	}
	l, err := list("4.20")
	fail.On(t, err)
	got := elements.Map(l.Packages, func(p contents.Package) string { return p.Name + " in " + p.Catalog })
	fail.Diff(t, []string{"redhat in registry.redhat.io/redhat/redhat-operator-index:v4.20", "community in registry.redhat.io/redhat/community-operator-index:v4.20"}, got)
	_, err = list("4.21")
	mirrortest.Refused(t, err, advice.Input, "4.21")
}

// TestEncryptedDisk lists an encrypted archive, with its identity and without.
func TestEncryptedDisk(t *testing.T) {
	t.Parallel()
	s := mirrortest.Catalogs(t)
	identity, recipient := s.AgeKey("ops.age", "")
	disk := s.Exported(s.Config("zoo.yaml", "  operators:\n  - catalog: "+mirrortest.ZooRef+"\n    packages: [{name: vole}]\n"), "disk", s.EncryptedTo(recipient))
	list := func(read archive.OpenOptions) (*contents.List, error) {
		return contents.Packages(t.Context(), contents.Options{Env: s.NewEnv(), Workspace: s.Workspace(), Archives: []string{disk}, Read: read})
	}
	l, err := list(archive.OpenOptions{Identities: s.Identities(identity)})
	if err != nil || len(l.Packages) != 1 || l.Packages[0].DisplayName != "Vole" || l.Packages[0].Here != "yes" || l.Packages[0].Size == 0 || len(l.Packages[0].Volumes) == 0 {
		t.Errorf("with the identity: %+v, %v", l, err)
	}
	if _, err := list(archive.OpenOptions{}); err == nil || !strings.Contains(advice.Text(err)+advice.Hint(err), "encrypted") {
		t.Errorf("without an identity: %v", err)
	}
}
