package contrib_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestGrafanaProvisioning: the files have the keys that Grafana documents and no others, and the
// dashboards take a source of the type that is provisioned.
func TestGrafanaProvisioning(t *testing.T) {
	read := func(name string, to any) {
		t.Helper()
		f, err := os.Open(filepath.Join("grafana/provisioning", name))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }() // read only
		d := yaml.NewDecoder(f)
		d.KnownFields(true)
		if err := d.Decode(to); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var sources struct {
		APIVersion  int `yaml:"apiVersion"`
		Datasources []struct {
			Name, UID, Type, Access, URL string
			IsDefault                    bool           `yaml:"isDefault"`
			JSONData                     map[string]any `yaml:"jsonData"`
		}
	}
	read("datasources/rondo.yaml", &sources)
	if s := sources.Datasources; sources.APIVersion != 1 || len(s) != 1 || s[0].UID == "" || s[0].Access != "proxy" || s[0].JSONData["httpMethod"] != "POST" {
		t.Fatalf("got %+v", sources)
	}
	var providers struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct {
			Name, Folder, Type string
			Options            struct{ Path string }
		}
	}
	read("dashboards/rondo.yaml", &providers)
	if p := providers.Providers; providers.APIVersion != 1 || len(p) != 1 || p[0].Type != "file" || p[0].Options.Path != "/usr/share/rondo" {
		t.Errorf("got %+v", providers)
	}
	boards, err := filepath.Glob("grafana/*.json")
	if err != nil || len(boards) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, name := range boards {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var board struct {
			Templating struct {
				List []struct{ Name, Type, Query any }
			}
		}
		if err := json.Unmarshal(text, &board); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if l := board.Templating.List; len(l) == 0 || l[0].Name != "datasource" || l[0].Query != sources.Datasources[0].Type {
			t.Errorf("%s does not choose a source of type %s", name, sources.Datasources[0].Type)
		}
		if strings.Count(string(text), `"datasource": {`) != strings.Count(string(text), `"uid": "${datasource}"`) {
			t.Errorf("%s has a panel whose source is fixed", name)
		}
	}
}
