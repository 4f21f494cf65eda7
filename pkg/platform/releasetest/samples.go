package releasetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
	"github.com/gantry-mirror/gantry/pkg/release"
)

// samples returns the files of the samples operator: image streams and a template for each architecture,
// in the folders of cluster-samples-operator. The last tag of each stream is an alias of the first.
func samples(p *Payload) []registrytest.File {
	files := []registrytest.File{{Name: "opt/"}, {Name: "opt/openshift/"}, {Name: "opt/openshift/operator/"}}
	for _, arch := range release.Arches() {
		if arch == release.Multi {
			continue
		}
		root := "opt/openshift/operator/" + arch.Suffix() + "/"
		files = append(files, registrytest.File{Name: root})
		for _, name := range slices.Sorted(maps.Keys(p.Samples)) {
			var tags []object
			for i, image := range p.Samples[name] {
				tags = append(tags, object{"name": fmt.Sprintf("%d", i+1), "from": object{"kind": "DockerImage", "name": image}, "referencePolicy": object{"type": "Local"}})
			}
			if len(tags) > 0 {
				tags = append(tags, object{"name": "latest", "from": object{"kind": "ImageStreamTag", "name": "1"}})
			}
			stream, _ := json.MarshalIndent(object{ // maps of texts can always be written
				"kind": "ImageStream", "apiVersion": "image.openshift.io/v1", "metadata": object{"name": name}, "spec": object{"tags": tags},
			}, "", "\t")
			dir := root + name + "/"
			files = append(files, registrytest.File{Name: dir}, registrytest.File{Name: dir + "imagestreams/"},
				registrytest.File{Name: dir + "imagestreams/" + name + "-rhel.json", Data: stream},
				registrytest.File{Name: dir + "templates/"}, registrytest.File{Name: dir + "templates/" + name + ".json", Data: []byte(`{"kind":"Template"}`)})
		}
	}
	return files
}
