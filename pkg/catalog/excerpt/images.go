package excerpt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/catalog"
)

// A UsedImage is an image that the ClusterServiceVersion of a bundle names outside of relatedImages.
type UsedImage struct {
	// Image is the reference as it is written there. It may not be one.
	Image string
	// Name identifies the place: the name of a variable, container or annotation.
	Name string
	// Where is the place as text: "variable RELATED_IMAGE_X of container manager in deployment foo".
	Where string
}

const (
	// mustGather is the annotation that oc adm must-gather --all-images reads. Some operators have others with
	// these words.
	mustGather      = "operators.openshift.io/must-gather-image"
	mustGatherWords = "must-gather"
	// relatedPrefix begins the names of variables with images that an operator runs, by the convention of
	// operator-framework's guide for disconnected environments.
	relatedPrefix = "RELATED_IMAGE_"
)

// imagesCSV holds the fields of a ClusterServiceVersion that name images.
type imagesCSV struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Annotations map[string]any `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Install Install `json:"install"`
	} `json:"spec"`
}

// Images returns the images that the ClusterServiceVersion of a bundle names: those of the containers of
// its deployments, of their variables RELATED_IMAGE_*, and of its annotations for must-gather. seen is false
// if the catalog does not have the deployments, as with olm.csv.metadata: then only annotations are known.
func Images(b *catalog.Bundle) (all []UsedImage, seen bool, err error) {
	err = each(b, func(value []byte) error {
		if !bytes.Contains(value, []byte(mustGatherWords)) {
			return nil
		}
		var csv imagesCSV
		err := json.Unmarshal(value, &csv.Metadata)
		all = append(all, csv.images()...)
		return err
	}, func(value []byte) error {
		var csv imagesCSV
		text, err := objectText(value)
		if err == nil && bytes.Contains(text, []byte("ClusterServiceVersion")) {
			err = json.Unmarshal(text, &csv)
		}
		if err == nil && csv.Kind == "ClusterServiceVersion" {
			seen = true
			all = append(all, csv.images()...)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return slices.Compact(all), seen, nil
}

// objectText returns the manifest in an olm.bundle.object as JSON.
func objectText(value []byte) ([]byte, error) {
	var property struct {
		Data []byte `json:"data"`
	}
	if err := json.Unmarshal(value, &property); err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(property.Data)
	if bytes.HasPrefix(text, []byte("{")) {
		return text, nil
	}
	return yaml.YAMLToJSON(text)
}

// images returns the images in the order of the places: annotations by name, then deployments.
func (c *imagesCSV) images() []UsedImage {
	var all []UsedImage
	for _, key := range slices.Sorted(maps.Keys(c.Metadata.Annotations)) {
		image, ok := c.Metadata.Annotations[key].(string)
		if ok && image != "" && (key == mustGather || strings.Contains(key, mustGatherWords)) {
			all = append(all, UsedImage{Image: image, Name: key, Where: "annotation " + key})
		}
	}
	for _, d := range c.Spec.Install.Spec.Deployments {
		pod := d.Spec.Template.Spec
		for _, group := range []struct {
			kind       string
			containers []Container
		}{{"init container", pod.InitContainers}, {"container", pod.Containers}} {
			for _, x := range group.containers {
				place := fmt.Sprintf("%s %s in deployment %s", group.kind, x.Name, d.Name)
				if x.Image != "" {
					all = append(all, UsedImage{Image: x.Image, Name: x.Name, Where: place})
				}
				for _, v := range x.Env {
					if value, ok := v.Value.(string); ok && value != "" && strings.HasPrefix(v.Name, relatedPrefix) {
						all = append(all, UsedImage{Image: value, Name: v.Name, Where: fmt.Sprintf("variable %s of %s", v.Name, place)})
					}
				}
			}
		}
	}
	return all
}
