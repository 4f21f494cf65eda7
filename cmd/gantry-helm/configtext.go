package main

import (
	"encoding/json"
	"strings"

	"sigs.k8s.io/yaml"
)

// maxNested is how deep texts in texts are read.
const maxNested = 3

// addConfig collects the images in the data of a ConfigMap: keys that are named like images, and texts.
func (f *finder) addConfig(owner string, data any) {
	values, _ := data.(map[string]any)
	for key := range values {
		s := scope{place: key + " of " + owner}
		if isImageField(key) {
			f.addField(s, values, key)
		}
		f.addText(s, textOf(values[key]))
	}
}

// addText collects the images in a text. The fields of YAML and JSON say which are images; a reference
// elsewhere may be one.
func (f *finder) addText(s scope, text string) {
	if !f.complete || s.nested == maxNested || !mayNameImage(text) {
		return
	}
	s.nested++
	read := false
	if strings.ContainsAny(text, "\n{[") {
		for _, document := range strings.Split(text, "\n---") {
			if v, ok := structureOf(document); ok {
				f.addFields(s, v)
				read = true
			}
		}
	}
	if read || s.off {
		return
	}
	for _, image := range referencesIn(text) {
		f.perhaps(s.place, image)
	}
}

// mayNameImage reports whether it is worth the time to read a text.
func mayNameImage(text string) bool {
	return strings.ContainsAny(text, "/:") && (strings.Contains(strings.ToLower(text), "image") || fullReference.MatchString(text))
}

// structureOf returns the mapping or list that a text is as YAML or JSON.
func structureOf(text string) (v any, ok bool) {
	text = strings.TrimSpace(text)
	var err error
	if strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		err = json.Unmarshal([]byte(text), &v)
	} else {
		err = yaml.Unmarshal([]byte(text), &v)
	}
	switch v.(type) {
	case map[string]any, []any:
		return v, err == nil
	}
	return nil, false
}
