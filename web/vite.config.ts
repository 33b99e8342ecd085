import { defineConfig } from 'vitest/config';

export default defineConfig({
  build: {
    target: 'es2022',
    // The helper that loads chunks in old browsers is not needed, and every byte of the first load counts.
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: true,
  },
  test: { include: ['test/**/*.test.ts'] },
});
