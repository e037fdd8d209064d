// Imports the framework in a process of its own, and writes the time that took in milliseconds.

const start = performance.now();
await import("../../../mod.ts");
console.log(performance.now() - start);
