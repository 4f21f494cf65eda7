package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gantry-mirror/gantry/pkg/chart/render"
)

// A finder collects the images of manifests.
type finder struct {
	paths []imagePath
	scan  bool // fields of custom resources
	owner map[string]string
	notes []string
}

func newFinder(paths []imagePath, scan bool) *finder {
	return &finder{paths: paths, scan: scan, owner: map[string]string{}}
}

// all returns the images that were found, sorted.
func (f *finder) all() []render.Image {
	var out []render.Image
	for _, name := range slices.Sorted(maps.Keys(f.owner)) {
		out = append(out, render.Image{Name: name, Owner: f.owner[name]})
	}
	return out
}

// add collects the images of a manifest. name is the template that it is from.
func (f *finder) add(name, manifest string) error {
	var object any
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.addObject(object)
}

// addObject collects the images of an object, or of those in a list.
func (f *finder) addObject(v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return nil // a template without objects, or only with comments
	}
	if items, ok := object["items"].([]any); ok && strings.HasSuffix(textOf(object["kind"]), "List") {
		for _, item := range items {
			if err := f.addObject(item); err != nil {
				return err
			}
		}
		return nil
	}
	owner := ownerOf(object)
	if owner == "" {
		return nil
	}
	f.addPods(owner, object)
	if f.scan && isCustom(textOf(object["apiVersion"])) {
		f.addFields(owner, object)
	}
	for _, p := range f.paths {
		if err := f.addPath(owner, p, object); err != nil {
			return err
		}
	}
	return nil
}

// ownerOf returns "Deployment web".
func ownerOf(object map[string]any) string {
	kind := textOf(object["kind"])
	meta, _ := object["metadata"].(map[string]any)
	return strings.TrimSpace(kind + " " + textOf(meta["name"]))
}

func textOf(v any) string {
	s, _ := v.(string)
	return s
}

// found adds an image of an owner.
func (f *finder) found(owner, image string) {
	image = strings.TrimSpace(image)
	if image == "" {
		return
	}
	if have, ok := f.owner[image]; !ok || owner < have {
		f.owner[image] = owner
	}
}

// addPods collects the images of pod templates anywhere in an object: its own, such as those of a
// Deployment or CronJob, and those that custom resources contain.
func (f *finder) addPods(owner string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			switch key {
			case "containers", "initContainers", "ephemeralContainers":
				for c := range mappings(value) {
					f.found(owner, textOf(c["image"]))
				}
			case "volumes":
				for c := range mappings(value) {
					if source, ok := c["image"].(map[string]any); ok {
						f.found(owner, textOf(source["reference"]))
					}
				}
			}
			f.addPods(owner, value)
		}
	case []any:
		for _, value := range v {
			f.addPods(owner, value)
		}
	}
}

// mappings iterates over the mappings of a list.
func mappings(v any) func(yield func(map[string]any) bool) {
	return func(yield func(map[string]any) bool) {
		list, _ := v.([]any)
		for _, item := range list {
			if m, ok := item.(map[string]any); ok && !yield(m) {
				return
			}
		}
	}
}
