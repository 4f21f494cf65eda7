package state

// configurations is the file with the path of each configuration. Plans are copied to other
// machines and contain no paths, so the workspace keeps them.
const configurations = "configurations.json"

const damagedConfigurations = "if it is damaged, remove it; it only distinguishes configurations of the same name"

// Configuration returns the path of the configuration that the image set was last planned from, or
// "" if it is unknown.
func (w *Workspace) Configuration(name string) (path string, err error) {
	all, err := readMap[string](w, configurations, damagedConfigurations)
	return all[name], err
}

// SaveConfiguration saves the path of the configuration of an image set.
func (w *Workspace) SaveConfiguration(name, path string) error {
	return setInMap(w, configurations, damagedConfigurations, name, path)
}

// ReadConfiguration is Configuration without locking the workspace in dir, which need not exist.
func ReadConfiguration(dir, name string) (path string, err error) {
	return readIfExists(dir, func(w *Workspace) (string, error) { return w.Configuration(name) })
}
