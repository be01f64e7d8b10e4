/** One minified bundle and one style sheet a widget, into opd_widgets/static/. `--watch` rebuilds, `--dev` adds the page for looking at it. */
import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(here, "../opd_widgets/static");
const stems = [
  "alignment_view",
  "compare",
  "explorer",
  "token_strip",
  "rollout_list",
  "token_panel",
  "tree_view",
  "progress_view",
];
/** A widget's module text is a trait of every instance, so its size is paid many times. */
const limit = 100 * 1024;

/** The palette is computed in TypeScript (tests check its contrast) and printed into the style sheet here. */
async function paletteCss() {
  const built = await esbuild.build({
    entryPoints: [resolve(here, "src/core/palette.ts")],
    bundle: true,
    format: "esm",
    write: false,
  });
  const url = `data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString("base64")}`;
  return (await import(url)).paletteCss();
}

const palette = {
  name: "palette",
  setup(build) {
    build.onResolve({ filter: /^opd:palette\.css$/ }, () => ({ path: "palette.css", namespace: "opd" }));
    build.onLoad({ filter: /.*/, namespace: "opd" }, async () => ({ contents: await paletteCss(), loader: "css" }));
  },
};

const shared = {
  bundle: true,
  minify: true,
  // The same values by shorter names: biome wants the long ones, esbuild does not shorten them.
  define: { "Number.NaN": "NaN", "Number.POSITIVE_INFINITY": "Infinity" },
  target: ["es2022", "chrome111", "firefox113", "safari16.4"],
  legalComments: "none",
  logLevel: "warning",
};
const jobs = [
  { ...shared, entryPoints: stems.map((s) => resolve(here, `src/widgets/${s}.ts`)), outdir: out, format: "esm" },
  {
    ...shared,
    entryPoints: stems.map((s) => resolve(here, `src/styles/${s}.css`)),
    outdir: out,
    plugins: [palette],
  },
  { ...shared, entryPoints: [resolve(here, "src/host/static_page.ts")], outdir: out, format: "iife" },
];
if (process.argv.includes("--dev")) {
  jobs.push({
    ...shared,
    entryPoints: [resolve(here, "dev/page.ts")],
    outdir: resolve(here, "dev/out"),
    format: "esm",
  });
}

await mkdir(out, { recursive: true });
if (process.argv.includes("--watch")) {
  for (const job of jobs) await (await esbuild.context(job)).watch();
} else {
  await Promise.all(jobs.map((job) => esbuild.build(job)));
  for (const name of [...stems, "static_page"]) {
    const { size } = await stat(resolve(out, `${name}.js`));
    if (size > limit) throw new Error(`${name}.js is ${size} bytes; the limit is ${limit}: take something out.`);
    const css = await readFile(resolve(out, `${name}.css`)).catch(() => "");
    console.log(
      `${name}.js ${(size / 1024).toFixed(1)} KB${css.length ? `, css ${(css.length / 1024).toFixed(1)} KB` : ""}`,
    );
  }
}
