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
	paths    []imagePath
	fields   bool // also those in fields of custom resources
	complete bool // also those in other places
	// Where each image is: in pod templates and paths, in other places, and references that may be images.
	named, scanned, possible map[string]string
	notes                    []string
}

func newFinder(paths []imagePath, r *render.Request) *finder {
	return &finder{
		paths: paths, fields: r.ScanFields || r.ScanComplete, complete: r.ScanComplete,
		named: map[string]string{}, scanned: map[string]string{}, possible: map[string]string{},
	}
}

// all returns the images that were found, and what may be further images, sorted.
func (f *finder) all() (images, possible []render.Image) {
	owner := maps.Clone(f.scanned)
	maps.Copy(owner, f.named)
	for _, name := range slices.Sorted(maps.Keys(owner)) {
		images = append(images, render.Image{Name: name, Owner: owner[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(f.possible)) {
		if owner[name] == "" {
			possible = append(possible, render.Image{Name: name, Owner: f.possible[name]})
		}
	}
	return images, possible
}

// add collects the images of a manifest. name is the template that it is from.
func (f *finder) add(name, manifest string) error {
	var object any
	if err := yaml.Unmarshal([]byte(manifest), &object); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.addObject(object)
	return nil
}

// addObject collects the images of an object, or of those in a list.
func (f *finder) addObject(v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return // a template without objects, or only with comments
	}
	if items, ok := object["items"].([]any); ok && strings.HasSuffix(textOf(object["kind"]), "List") {
		for _, item := range items {
			f.addObject(item)
		}
		return
	}
	owner := ownerOf(object)
	if owner == "" {
		return
	}
	f.addPods(owner, object)
	switch api, kind := textOf(object["apiVersion"]), textOf(object["kind"]); {
	case f.fields && isCustom(api):
		group, _, _ := strings.Cut(api, "/")
		f.addFields(scope{place: owner, group: group}, object)
	case f.complete && kind == "ConfigMap":
		f.addConfig(owner, object["data"])
	}
	for i := range f.paths {
		f.addPath(owner, &f.paths[i], object)
	}
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
func (f *finder) found(owner, image string) { keep(f.named, owner, image) }

// certain adds an image that a place outside of pod templates names.
func (f *finder) certain(place, image string) {
	if !isNear(image) {
		keep(f.scanned, place, image)
	}
}

// perhaps adds a reference that may be an image which is used.
func (f *finder) perhaps(place, image string) {
	if f.complete && !isNear(image) {
		keep(f.possible, place, image)
	}
}

// keep keeps the first place of an image.
func keep(all map[string]string, place, image string) {
	image = strings.TrimSpace(image)
	if image == "" {
		return
	}
	if have, ok := all[image]; !ok || place < have {
		all[image] = place
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
			default:
				if f.complete {
					f.addContainer(owner, key, value)
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
