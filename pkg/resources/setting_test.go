package resources

import (
	"encoding/json"
	"path"
	"slices"
	"testing"
)

// TestSettingsAreSetBack checks that objects of clusters are never removed, and that each has a patch.
func TestSettingsAreSetBack(t *testing.T) {
	in := func(target, folder string) (files []File) {
		manifests, support, _ := everything(t, target, Options{})
		for _, f := range Applied(slices.Concat(manifests, support)) {
			files = append(files, File{path.Join(folder, f.Name), f.Text})
		}
		return files
	}
	for _, folder := range []string{"", "working-dir/cluster-resources-other"} {
		c, err := Compare(in("openshift-4.20,disable-default-catalogs,trusted-ca", folder), in("openshift-4.20", ""))
		if err != nil || len(c.Removed) > 0 || len(c.Settings) != len(defaultCatalogs)+2 || !c.Any() {
			t.Fatalf("%v: %+v", err, c)
		}
		resources := map[string]bool{}
		for _, s := range c.Settings {
			resources[s.Resource()] = true
			if !json.Valid([]byte(s.Patch)) {
				t.Errorf("%s has the patch %q", s, s.Patch)
			}
		}
		for _, want := range []string{"clustercatalog.olm.operatorframework.io", "image.config.openshift.io", "operatorhub.config.openshift.io"} {
			if !resources[want] {
				t.Errorf("no %s in %v", want, resources)
			}
		}
	}
	c, err := Compare(in("openshift-4.20", ""), in("openshift-4.20", ""))
	if err != nil || c.Any() || c.Settings != nil {
		t.Errorf("%v: %+v", err, c)
	}
}
