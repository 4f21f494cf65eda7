package main

import "strings"

// addContainer collects what a field of a container, or of an object like one, names: variables, arguments and
// annotations.
func (f *finder) addContainer(owner, field string, value any) {
	switch field {
	case "env":
		for v := range mappings(value) {
			name := textOf(v["name"])
			f.addValue("variable "+name+" of "+owner, name, textOf(v["value"]))
		}
	case "annotations":
		all, _ := value.(map[string]any)
		for key := range all {
			if _, name, _ := strings.Cut(key, "/"); isImageField(name) {
				f.addField(scope{place: "annotation " + key + " of " + owner}, all, key)
			}
		}
	case "command", "args":
		f.addArguments(owner, value)
	}
}

// addArguments collects the images in the command line of a program: --image=REFERENCE, --image REFERENCE,
// and both in the text of a shell script.
func (f *finder) addArguments(owner string, value any) {
	list, _ := value.([]any)
	var words []string
	for _, item := range list {
		for _, word := range strings.Fields(textOf(item)) {
			words = append(words, strings.Trim(word, `"'\;`))
		}
	}
	for i, word := range words {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !strings.HasPrefix(word, "-"):
			if i == 0 || !strings.HasPrefix(words[i-1], "-") || strings.Contains(words[i-1], "=") {
				f.addText(scope{place: "an argument of " + owner}, word)
			}
			continue
		case !ok && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			if value = words[i+1]; !isImageField(name) && !isImageList(name) { // it may be the value of another argument
				f.addText(scope{place: "argument " + name + " of " + owner}, value)
				continue
			}
		}
		f.addValue("argument "+name+" of "+owner, name, strings.Trim(value, `"'`))
	}
}

// addValue collects the images in the value of a variable or argument.
func (f *finder) addValue(place, name, value string) {
	value = strings.TrimSpace(value)
	switch s := (scope{place: place}); {
	case value == "":
	case isImageField(name):
		f.addField(s, map[string]any{name: value}, name)
	case isImageList(name) && !hasWord(name, matched):
		f.addList(s, value)
	case isFull(value) && !hasWord(name, matched) && !hasWord(name, artifacts):
		f.certain(place, value)
	default:
		f.addText(s, value)
	}
}

// addList collects the images of a list with any separators, in which each may have a key: "4.2=REFERENCE".
func (f *finder) addList(s scope, value string) {
	if _, ok := structureOf(value); ok && strings.ContainsAny(value, "\n{[") {
		f.addText(s, value)
		return
	}
	for _, item := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n,;", r) }) {
		if _, after, ok := strings.Cut(item, "="); ok {
			item = after
		}
		if isFull(item) {
			f.certain(s.place, item)
		} else {
			f.addText(s, item)
		}
	}
}
