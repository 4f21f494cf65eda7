package env

// UserName returns the name of the user who runs this, by the environment, or "".
func UserName(getenv func(string) string) string {
	for _, variable := range []string{"USER", "LOGNAME", "USERNAME"} {
		if name := getenv(variable); name != "" && len(name) <= 64 {
			return name
		}
	}
	return ""
}
